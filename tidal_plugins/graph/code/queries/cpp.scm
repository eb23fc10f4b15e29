(class_specifier name: (_) @name body: (_)) @definition.class
[
  (function_definition declarator: (function_declarator declarator: [(field_identifier) (destructor_name)] @name))
  (function_definition declarator: (_ (function_declarator declarator: (field_identifier) @name)))
  (function_definition declarator: (function_declarator
    declarator: (qualified_identifier scope: (_) @owner name: [(identifier) (destructor_name)] @name)))
  (function_definition declarator: (_ (function_declarator
    declarator: (qualified_identifier scope: (_) @owner name: (identifier) @name))))
] @definition.method

(base_class_clause [(type_identifier) (qualified_identifier)] @base)
(base_class_clause (template_type name: (_) @base))
(call_expression function: [
  (qualified_identifier name: [(identifier) @name (qualified_identifier name: (identifier) @name)])
  (template_function name: (_) @name)]) @reference.call
(new_expression type: [(type_identifier) @name (qualified_identifier name: (_) @name)]) @reference.class

(field_declaration type: (_) @type declarator: (field_identifier) @field)
(field_declaration type: (_) @type declarator: (_ (field_identifier) @field))
(parameter_declaration type: (_) @type declarator: (identifier) @variable)
(parameter_declaration type: (_) @type declarator: (_ (identifier) @variable))
(declaration type: (_) @type declarator: (identifier) @variable)
(declaration type: (_) @type declarator: (_ . (identifier) @variable))
(declaration type: (placeholder_type_specifier)
  declarator: (init_declarator declarator: (_) @variable value: (_) @value))
