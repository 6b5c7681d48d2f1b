//! What is made of each table of the schema.

/// Makes of each table a type for its rows, which is also what is moved from one database to another, and what is done with
/// every table alike. Tables come after those that their foreign keys name. Where it is used, the names of diesel and serde that
/// it uses are imported.
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

        /// A table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Table {
            $($(#[$doc])* $Table,)+
        }

        impl Table {
            /// All of them, each after those that its rows refer to.
            pub const ALL: [Self; [$(Self::$Table),+].len()] = [$(Self::$Table),+];

            /// Returns its name in the database.
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
            /// Returns the table they are of.
            pub fn table(&self) -> Table {
                match &self.0 {
                    $(AnyRows::$Table(_) => Table::$Table,)+
                }
            }

            /// Returns how many they are.
            pub fn len(&self) -> usize {
                match &self.0 {
                    $(AnyRows::$Table(rows) => rows.len(),)+
                }
            }

            /// Returns whether there are none.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Where the rows after these begin; nothing when there are none.
            pub fn end(&self) -> Option<Position> {
                match &self.0 {
                    $(AnyRows::$Table(rows) => rows.last().map(|row| Position(AnyKey::$Table($(row.$key),+))),)+
                }
            }

            /// Returns the rows as text: each a line with a JSON object of all columns. The text is the same for equal
            /// rows, whatever database they come from. Instants are milliseconds since 1970.
            ///
            /// # Errors
            /// None that is expected.
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

            /// Returns the rows of a text that [`Self::to_lines`] made.
            ///
            /// # Errors
            /// When the text is no such thing.
            pub fn from_lines(table: Table, text: &str) -> agora_domain::Result<Self> {
                let lines = text.lines();
                let rows = match table {
                    $(Table::$Table => lines.map(serde_json::from_str).collect::<Result<_, _>>().map(AnyRows::$Table),)+
                };
                rows.map(Self).map_err(Error::internal)
            }
        }

        /// Runs `$run!(Variant, table, row, key columns...)` for the table.
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
