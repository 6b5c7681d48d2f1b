//! Conditions and columns in SQL of our own.

/// Makes a fragment of SQL an expression of a type, for queries on the table of a column that it names.
macro_rules! expression {
    ($name:ident $(<$Part:ident>)?: $Type:ty, of $column:ty) => {
        impl$(<$Part>)? diesel::expression::Expression for $name$(<$Part>)? {
            type SqlType = $Type;
        }

        impl<Source $(, $Part)?> diesel::expression::AppearsOnTable<Source> for $name$(<$Part>)? where
            $column: diesel::expression::AppearsOnTable<Source>
        {
        }

        impl<Source $(, $Part)?> diesel::expression::SelectableExpression<Source> for $name$(<$Part>)? where
            $column: diesel::expression::SelectableExpression<Source>
        {
        }
    };
}

pub(crate) use expression;
