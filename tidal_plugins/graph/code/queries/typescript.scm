(enum_declaration name: (_) @name) @definition.class
(function_signature name: (_) @name) @definition.function
(abstract_class_declaration name: (_) @name) @definition.class

(class_heritage [
  (extends_clause value: [(identifier) (member_expression)] @base)
  (implements_clause [(type_identifier) (nested_type_identifier)] @base)
  (implements_clause (generic_type name: (_) @base))])
(extends_type_clause type: [(type_identifier) (nested_type_identifier)] @base)
(extends_type_clause type: (generic_type name: (_) @base))

(formal_parameters (_ pattern: (identifier) @parameter))
(_ pattern: (identifier) @variable type: (type_annotation) @type)
(required_parameter [(accessibility_modifier) "readonly"] pattern: (identifier) @field type: (type_annotation) @type)
(public_field_definition name: (_) @field type: (type_annotation) @type)
(public_field_definition name: (_) @field !type value: (new_expression) @value)
(variable_declarator name: (identifier) @variable type: (type_annotation) @type)
