(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @owner
    (generic_type type: (_) @owner)
    (pointer_type [(type_identifier) @owner (generic_type type: (_) @owner)])]))
  name: (_) @name) @definition.method

(composite_literal type: (type_identifier) @name) @reference.class
(composite_literal type: (qualified_type name: (_) @name)) @reference.class

(type_spec type: (struct_type (field_declaration_list (field_declaration !name type: (_) @base))))

(parameter_declaration name: (_) @variable type: (_) @type)
(field_declaration name: (_) @field type: (_) @type)
(var_spec name: (_) @variable type: (_) @type)
(short_var_declaration left: (expression_list . (_) @variable) right: (expression_list . (_) @value))

(import_spec name: (_)? @alias path: (_) @module)
