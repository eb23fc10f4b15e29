(function_signature_item name: (_) @name) @definition.function
(impl_item type: (type_identifier) @owner) @extension
(impl_item type: (generic_type type: (_) @owner)) @extension
(impl_item trait: [(generic_type type: (_) @base) (scoped_type_identifier) @base])

(call_expression function: (scoped_identifier name: (_) @name)) @reference.call
(call_expression function: (generic_function function: [
  (identifier) @name (field_expression field: (_) @name) (scoped_identifier name: (_) @name)])) @reference.call
(struct_expression name: [(type_identifier) @name (scoped_type_identifier name: (_) @name)]) @reference.class

(parameter pattern: (identifier) @variable type: (_) @type)
(field_declaration name: (_) @field type: (_) @type)
(let_declaration pattern: (identifier) @variable type: (_) @type)
(let_declaration pattern: (identifier) @variable !type value: [(call_expression) (struct_expression) (await_expression)] @value)

(use_declaration argument: (_) @use)
