(class_heritage [(identifier) (member_expression)] @base)
(field_definition property: (_) @field value: (new_expression) @value)
(formal_parameters [(identifier) @parameter (assignment_pattern left: (identifier) @parameter)])
