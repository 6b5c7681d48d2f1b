//! Hand-written SQL as diesel expressions.

/// Implements diesel's expression traits for an SQL fragment of the given type, valid in queries on the table of the given
/// column. Generic parameters come first: `expression! { [const N: u8, Column] Fragment<N, Column>: Bool, of Column }`.
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
