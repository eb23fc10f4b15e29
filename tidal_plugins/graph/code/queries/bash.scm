(function_definition name: (_) @name) @definition.function
(command name: (command_name (word) @name)) @reference.call
((command name: (command_name (word) @how) argument: (_) @module.near) (#any-of? @how "source" "."))
