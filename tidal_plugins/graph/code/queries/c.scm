(struct_specifier name: (_) @name body: (_)) @definition.class
[
  (function_definition declarator: (function_declarator declarator: (identifier) @name))
  (function_definition declarator: (_ (function_declarator declarator: (identifier) @name)))
  (function_definition declarator: (_ (_ (function_declarator declarator: (identifier) @name))))
] @definition.function

(call_expression function: [(identifier) @name (field_expression field: (_) @name)]) @reference.call

(preproc_include path: (string_literal) @module.near)
(preproc_include path: (system_lib_string) @module)
