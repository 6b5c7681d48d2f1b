//! Statements in SQL that diesel cannot express, as queries that stay prepared.

/// Declares a statement: its parameters, the types of its columns, and its SQL with the parameters where they belong.
macro_rules! statement {
    ($name:ident { $($field:ident: $type:ty),* } -> $columns:ty: $($text:literal $($($value:ident).+ as $sql:ty)?),*) => {
        #[derive(Debug, Clone, QueryId)]
        struct $name {
            $($field: $type),*
        }

        impl Query for $name {
            type SqlType = $columns;
        }

        impl QueryFragment<Pg> for $name {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
                $(
                    out.push_sql($text);
                    $(out.push_bind_param::<$sql, _>(&self.$($value).+)?;)?
                )*
                Ok(())
            }
        }
    };
}

pub(super) use statement;
