(record_declaration name: (_) @name) @definition.class
(enum_declaration name: (_) @name) @definition.class
(constructor_declaration name: (_) @name) @definition.method

(superclass [(type_identifier) (scoped_type_identifier)] @base)
(superclass (generic_type . (_) @base))
(type_list (scoped_type_identifier) @base)
(type_list (generic_type . (_) @base))
(method_invocation name: (_) @name) @reference.call
(object_creation_expression type: (generic_type . (type_identifier) @name)) @reference.class
(object_creation_expression type: (scoped_type_identifier (type_identifier) @name .)) @reference.class

(formal_parameter type: (_) @type name: (_) @variable)
(field_declaration type: (_) @type declarator: (variable_declarator name: (_) @field))
(local_variable_declaration type: (_) @type declarator: (variable_declarator name: (_) @variable))
(local_variable_declaration
  declarator: (variable_declarator name: (_) @variable value: (object_creation_expression) @value))

(import_declaration (scoped_identifier) @module)
