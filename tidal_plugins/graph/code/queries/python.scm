; A definition with its decorators, which it calls.
(decorated_definition definition: (function_definition name: (identifier) @name)) @definition.function
(decorator (identifier) @name) @reference.call
(decorated_definition
  (decorator [(identifier) @name (call function: (identifier) @name)])
  definition: (class_definition name: (_) @caller)) @reference.call
(raise_statement (identifier) @name (#match? @name "^[A-Z]")) @reference.call
(parameters [
  (identifier) @parameter
  (default_parameter name: (identifier) @parameter)
  (typed_parameter . (identifier) @parameter)
  (typed_default_parameter name: (identifier) @parameter)])

(class_definition superclasses: (argument_list [(identifier) (attribute)] @base))
(class_definition superclasses: (argument_list (subscript value: (_) @base)))

(typed_parameter . (identifier) @variable type: (type) @type)
(typed_default_parameter name: (identifier) @variable type: (type) @type)
(assignment left: [(identifier) (attribute)] @variable type: (type) @type)
(assignment left: [(identifier) (attribute)] @variable !type right: [(call) (await) (identifier)] @value)

(import_statement name: (dotted_name) @module @alias)
(import_statement name: (aliased_import name: (_) @module alias: (_) @alias))
(import_from_statement module_name: (_) @module name: (dotted_name) @member)
(import_from_statement module_name: (_) @module name: (aliased_import name: (_) @member alias: (_) @alias))
(import_from_statement module_name: (_) @module (wildcard_import))
