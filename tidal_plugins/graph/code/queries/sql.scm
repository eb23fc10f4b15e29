(create_table (object_reference) @name) @definition.table
(create_view (object_reference) @name) @definition.table
(create_materialized_view (object_reference) @name) @definition.table
(create_function (keyword_function) . (object_reference) @name) @definition.function
(object_reference) @name @reference.call
