(enum_declaration name: (_) @name) @definition.class

(base_clause (_) @base)
(function_call_expression function: (name) @name) @reference.call
(nullsafe_member_call_expression name: (_) @name) @reference.call
(object_creation_expression (name) @name) @reference.class

(simple_parameter type: (_) @type name: (_) @variable)
(property_promotion_parameter type: (_) @type name: (_) @field)
(property_declaration type: (_) @type (property_element name: (_) @field))
(assignment_expression left: (_) @variable right: [(object_creation_expression) (variable_name)] @value)

(namespace_use_declaration) @use
(require_expression (_) @module.near)
(require_once_expression (_) @module.near)
(include_expression (_) @module.near)
(include_once_expression (_) @module.near)
