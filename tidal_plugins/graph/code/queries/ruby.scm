(class name: (_) @name) @definition.class
(module name: (_) @name) @definition.class
(method name: (_) @name) @definition.method
(singleton_method name: (_) @name) @definition.method

(superclass (_) @base)
(call method: (_) @name) @reference.call

(assignment left: (_) @variable right: [(call) (identifier)] @value)

((call method: (_) @how arguments: (argument_list . (string (string_content) @module))) (#eq? @how "require"))
((call method: (_) @how arguments: (argument_list . (string (string_content) @module.near)))
  (#eq? @how "require_relative"))
