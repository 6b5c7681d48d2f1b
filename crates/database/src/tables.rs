//! The macro that declares the tables of the schema.

/// Declares tables for diesel and, for each, a record type of its rows, which copies and backups move as well; then the types and
/// functions that treat all of these tables alike. Tables are declared after those that their foreign keys refer to. The place of
/// use imports the names of diesel and serde that the expansion needs.
macro_rules! tables {
    ($dollar:tt $(
        $(#[$doc:meta])*
        $Table:ident($table:ident, $Row:ident) by ($($key:ident: $Key:ty),+) {
            $($column:ident: $Type:ty [$($Sql:tt)+]),+ $(; $($other:ident [$($Other:tt)+]),+)? $(,)?
        }
    )+) => {
        $(
            table! {
                use diesel::sql_types::*;
                use crate::sql_types::{Id, Instant};

                $table ($($key),+) {
                    $($column -> $($Sql)+,)+
                    $($($other -> $($Other)+,)+)?
                }
            }
        )+

        /// A table whose rows copies and backups move.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Table {
            $($(#[$doc])* $Table,)+
        }

        impl Table {
            /// All tables, each after those that its rows refer to.
            pub const ALL: [Self; [$(Self::$Table),+].len()] = [$(Self::$Table),+];

            /// Returns the name of the table in the database.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Table => stringify!($table),)+
                }
            }
        }

        $(
            #[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, AsChangeset, Serialize, Deserialize)]
            #[diesel(table_name = $table, primary_key($($key),+))]
            #[diesel(treat_none_as_default_value = false, treat_none_as_null = true)]
            #[serde(deny_unknown_fields)]
            pub(crate) struct $Row {
                $(pub(crate) $column: $Type,)+
            }
        )+

        /// Some rows of a table.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Rows(pub(crate) AnyRows);

        #[derive(Debug, Clone, PartialEq, Eq)]
        pub(crate) enum AnyRows {
            $($Table(Vec<$Row>),)+
        }

        /// A place in a table, after one of its rows.
        #[derive(Debug, Clone, Copy)]
        pub struct Position(pub(crate) AnyKey);

        /// The primary key of a row.
        #[derive(Debug, Clone, Copy)]
        pub(crate) enum AnyKey {
            $($Table($($Key),+),)+
        }

        impl Rows {
            /// Returns the table that the rows belong to.
            pub fn table(&self) -> Table {
                match &self.0 {
                    $(AnyRows::$Table(_) => Table::$Table,)+
                }
            }

            /// Returns the number of rows.
            pub fn len(&self) -> usize {
                match &self.0 {
                    $(AnyRows::$Table(rows) => rows.len(),)+
                }
            }

            /// Returns whether there are no rows.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Returns the position after the last of these rows, or `None` if there are no rows.
            pub fn end(&self) -> Option<Position> {
                match &self.0 {
                    $(AnyRows::$Table(rows) => rows.last().map(|row| Position(AnyKey::$Table($(row.$key),+))),)+
                }
            }

            /// Returns the rows as JSON lines: one object of all columns for each row. Equal rows give the same text, whichever
            /// database they come from. Instants are milliseconds since 1970.
            ///
            /// # Errors
            /// None is expected.
            pub fn to_lines(&self) -> agora_domain::Result<Vec<u8>> {
                let mut text = Vec::new();
                match &self.0 {
                    $(AnyRows::$Table(rows) => for row in rows {
                        serde_json::to_writer(&mut text, row).map_err(Error::internal)?;
                        text.push(b'\n');
                    },)+
                }
                Ok(text)
            }

            /// Parses a text made by [`Self::to_lines`].
            ///
            /// # Errors
            /// If the text is not valid for the table.
            pub fn from_lines(table: Table, text: &str) -> agora_domain::Result<Self> {
                let lines = text.lines();
                let rows = match table {
                    $(Table::$Table => lines.map(serde_json::from_str).collect::<Result<_, _>>().map(AnyRows::$Table),)+
                };
                rows.map(Self).map_err(Error::internal)
            }
        }

        /// Expands to `$run!(Variant, table, row, key columns...)` for the given table.
        macro_rules! for_table {
            ($dollar table:expr, $dollar run:ident) => {
                match $dollar table {
                    $($crate::schema::Table::$Table => $dollar run!($Table, $table, $Row, $($key),+),)+
                }
            };
        }

        pub(crate) use for_table;
    };
}

pub(crate) use tables;
