//! Conditions and columns in SQL of our own.

/// Makes a fragment of SQL an expression of a type, for queries on the table of a column that it names. Its generics stand before it, as in
/// `[const N: u8, Column] Fragment<N, Column>`.
macro_rules! expression {
    ($([$($generic:tt)+])? $Fragment:path: $Type:ty, of $column:ty) => {
        impl$(<$($generic)+>)? diesel::expression::Expression for $Fragment {
            type SqlType = $Type;
        }

        impl<$($($generic)+,)? Source> diesel::expression::AppearsOnTable<Source> for $Fragment where
            $column: diesel::expression::AppearsOnTable<Source>
        {
        }

        impl<$($($generic)+,)? Source> diesel::expression::SelectableExpression<Source> for $Fragment where
            $column: diesel::expression::SelectableExpression<Source>
        {
        }
    };
}

pub(crate) use expression;
