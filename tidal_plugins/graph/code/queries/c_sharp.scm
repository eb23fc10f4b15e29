(class_declaration name: (_) @name) @definition.class
(interface_declaration name: (_) @name) @definition.class
(struct_declaration name: (_) @name) @definition.class
(record_declaration name: (_) @name) @definition.class
(enum_declaration name: (_) @name) @definition.class
(method_declaration name: (_) @name) @definition.method
(constructor_declaration name: (_) @name) @definition.method
(local_function_statement name: (_) @name) @definition.function

(base_list [(identifier) (qualified_name)] @base)
(base_list (generic_name . (_) @base))
(invocation_expression function: [
  (identifier) @name (generic_name) @name (member_access_expression expression: (_) name: (_) @name)]) @reference.call
(object_creation_expression type: [(identifier) @name (generic_name) @name (qualified_name name: (_) @name)]) @reference.class

(parameter type: (_) @type name: (_) @variable)
(property_declaration type: (_) @type name: (_) @field)
(field_declaration (variable_declaration type: (_) @type (variable_declarator name: (_) @field)))
(variable_declaration type: (_) @type (variable_declarator name: (_) @variable))
(variable_declarator name: (_) @variable (object_creation_expression) @value)

(using_directive . (_) @module .)
(using_directive name: (_) @alias (_) @module)
