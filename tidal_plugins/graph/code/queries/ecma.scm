(method_definition name: [(property_identifier) (private_property_identifier)] @name) @definition.method
(call_expression function: (member_expression property: (private_property_identifier) @name)) @reference.call

(variable_declarator name: (identifier) @variable value: [(new_expression) (identifier)] @value)
(assignment_expression left: (member_expression) @variable right: [(new_expression) (identifier)] @value)

; The names stand in patterns of their own: a pattern of a long list with something behind it takes quadratic time.
(import_statement source: (_) @module) @import
(import_clause (identifier) @member)
(namespace_import (identifier) @alias)
(import_specifier name: (_) @member alias: (_)? @alias)
(export_statement source: (_) @module)
(call_expression function: [(identifier) (import)] @how arguments: (arguments . (string) @module)
  (#any-of? @how "require" "import"))
(variable_declarator
  name: [(identifier) @alias (object_pattern)]
  value: (call_expression function: (identifier) @how arguments: (arguments . (string) @module))
  (#eq? @how "require")) @import
(object_pattern (shorthand_property_identifier_pattern) @member)
(object_pattern (pair_pattern key: (_) @member value: (identifier) @alias))
