//! SQL conditions that exclude accounts from what a viewer is shown: blocked, muted and deleted ones. The SQL is the same for
//! both databases. Deleted accounts are excluded everywhere.

use agora_domain::accounts::Viewer;
use agora_domain::id::UserId;
use diesel::backend::Backend;
use diesel::expression::{Expression, ValidGrouping};
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{Bool, HasSqlType};
use diesel::{BoolExpressionMethods, QueryResult, dsl};
use uuid::Uuid;

use crate::expression::expression;
use crate::schema::users;
use crate::sql_types::{DbId, Id};

/// The account that reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DbViewer {
    pub(crate) id: DbId,
    /// The account whose blocks apply; the nil id, which blocks nobody, for a viewer who sees everything.
    pub(crate) blocks_of: DbId,
    pub(crate) sees_all: bool,
}

impl DbViewer {
    pub(crate) fn of(Viewer { id, sees_all }: Viewer) -> Self {
        let id = DbId(id.uuid());
        Self { id, blocks_of: if sees_all { DbId(Uuid::nil()) } else { id }, sees_all }
    }

    /// Returns the viewer of an account, without the right to see everything.
    pub(crate) fn ordinary(id: UserId) -> Self {
        Self::of(Viewer::ordinary(id))
    }
}

/// The condition that there is a block between the viewer and the account in a column, whichever of the two made it.
///
/// In a list, a first subquery checks once per statement whether the viewer is part of any block; only then is each row looked
/// up. That subquery is ordered, and no EXISTS, so that PostgreSQL uses the index however many blocks it expects the account to
/// have. In lists the same condition also covers deleted accounts.
#[derive(Debug, Clone, Copy, ValidGrouping)]
pub(crate) struct Blocked<const SCOPE: u8, Column> {
    blocks_of: DbId,
    column: Column,
}

/// The scope of a query for one row, which checks separately whether the account was deleted.
pub(crate) const SINGLE_ROW: u8 = 0;
/// The scope of a list that is not joined with `users`.
pub(crate) const LIST: u8 = 1;
/// The scope of a list that is joined with `users`.
pub(crate) const LIST_WITH_USERS: u8 = 2;
/// The scope of a list that is restricted to enabled accounts; no deleted account is enabled.
pub(crate) const LIST_OF_ENABLED: u8 = 3;

/// Returns the condition, for a query of one row, that there is a block between the viewer and the account in a column.
pub(crate) const fn is_blocked<Column>(viewer: DbViewer, column: Column) -> Blocked<SINGLE_ROW, Column> {
    Blocked { blocks_of: viewer.blocks_of, column }
}

/// Returns the condition, for a list, that there is a block between the viewer and the account in a column, or the account was
/// deleted.
pub(crate) const fn is_blocked_or_deleted<Column>(viewer: DbViewer, column: Column) -> Blocked<LIST, Column> {
    Blocked { blocks_of: viewer.blocks_of, column }
}

/// Returns the condition of [`is_blocked_or_deleted`] for a list that is joined with `users`, where it costs less.
pub(crate) const fn is_user_blocked_or_deleted(viewer: DbViewer) -> Blocked<LIST_WITH_USERS, users::id> {
    Blocked { blocks_of: viewer.blocks_of, column: users::id }
}

/// Returns the condition of [`is_blocked_or_deleted`] for a list that MUST also require that the account is enabled.
pub(crate) const fn is_enabled_account_blocked<Column>(
    viewer: DbViewer,
    column: Column,
) -> Blocked<LIST_OF_ENABLED, Column> {
    Blocked { blocks_of: viewer.blocks_of, column }
}

// diesel cannot derive it with a constant.
impl<const SCOPE: u8, Column: QueryId> QueryId for Blocked<SCOPE, Column> {
    type QueryId = Blocked<SCOPE, Column::QueryId>;

    const HAS_STATIC_QUERY_ID: bool = Column::HAS_STATIC_QUERY_ID;
}

expression! { [const SCOPE: u8, Column] Blocked<SCOPE, Column>: Bool, of Column }

impl<const SCOPE: u8, DB, Column> QueryFragment<DB> for Blocked<SCOPE, Column>
where
    DB: Backend + HasSqlType<Id>,
    Column: QueryFragment<DB>,
    DbId: ToSql<Id, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let column = |out: AstPass<'_, 'b, DB>| self.column.walk_ast(out);
        if SCOPE == SINGLE_ROW {
            return push_pair(&mut out, BLOCKS, &self.blocks_of, column);
        }
        out.push_sql("(");
        push_is_blocked(&mut out, &self.blocks_of, column)?;
        match SCOPE {
            LIST => {
                out.push_sql(" OR ");
                push_is_account_deleted(&mut out, column)?;
            }
            LIST_WITH_USERS => out.push_sql(" OR users.is_deleted"),
            _ => {}
        }
        out.push_sql(")");
        Ok(())
    }
}

/// The condition that the account in a column was deleted and its data is being erased: nobody is shown anything of it. In
/// queries that include the row of the account, the column `users.is_deleted` says the same.
#[derive(Debug, Clone, Copy, QueryId, ValidGrouping)]
pub(crate) struct AccountDeleted<Column>(Column);

/// Returns the condition that the account in a column was deleted.
pub(crate) const fn is_account_deleted<Column>(column: Column) -> AccountDeleted<Column> {
    AccountDeleted(column)
}

expression! { [Column] AccountDeleted<Column>: Bool, of Column }

impl<DB: Backend, Column: QueryFragment<DB>> QueryFragment<DB> for AccountDeleted<Column> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        push_is_account_deleted(&mut out, |out| self.0.walk_ast(out))
    }
}

/// Writes the condition that the account in the column that `column` writes was deleted.
///
/// There hardly ever is a deleted account, so a first subquery checks once per statement whether there is any. NULLIF makes
/// PostgreSQL estimate that hardly any account was deleted, where it would otherwise estimate that all were.
pub(crate) fn push_is_account_deleted<'b, DB: Backend>(
    out: &mut AstPass<'_, 'b, DB>,
    column: impl Fn(AstPass<'_, 'b, DB>) -> QueryResult<()>,
) -> QueryResult<()> {
    out.push_sql("(NULLIF(1, (SELECT 1 FROM erasures e LIMIT 1)) IS NULL AND NULLIF(1, (SELECT 1 FROM erasures e WHERE e.user_id = ");
    column(out.reborrow())?;
    out.push_sql(")) IS NULL)");
    Ok(())
}

/// A table of pairs of accounts, with the names of its two columns.
type Relation = [&'static str; 3];

const BLOCKS: Relation = ["blocks", "user_id", "other_id"];
const MUTES: Relation = ["mutes", "muter_id", "muted_id"];

/// Writes the condition, for a list, that there is a block between `account` and the account in the column that `column` writes.
pub(crate) fn push_is_blocked<'b, DB>(
    out: &mut AstPass<'_, 'b, DB>,
    account: &'b DbId,
    column: impl Fn(AstPass<'_, 'b, DB>) -> QueryResult<()>,
) -> QueryResult<()>
where
    DB: Backend + HasSqlType<Id>,
    DbId: ToSql<Id, DB>,
{
    push_related(out, BLOCKS, account, column)
}

/// Writes the condition, for a list, that a table has a row of the two accounts. It begins with the check, made once per
/// statement, that the table has any row of `account`.
fn push_related<'b, DB>(
    out: &mut AstPass<'_, 'b, DB>,
    relation: Relation,
    account: &'b DbId,
    column: impl Fn(AstPass<'_, 'b, DB>) -> QueryResult<()>,
) -> QueryResult<()>
where
    DB: Backend + HasSqlType<Id>,
    DbId: ToSql<Id, DB>,
{
    let [table, of, other] = relation;
    for part in ["((SELECT 1 FROM ", table, " r WHERE r.", of, " = "] {
        out.push_sql(part);
    }
    out.push_bind_param::<Id, _>(account)?;
    for part in [" ORDER BY r.", other, " LIMIT 1) IS NOT NULL AND "] {
        out.push_sql(part);
    }
    push_pair(out, relation, account, column)?;
    out.push_sql(")");
    Ok(())
}

/// Writes the condition that a table has a row of `account` and the account in the column that `column` writes.
fn push_pair<'b, DB>(
    out: &mut AstPass<'_, 'b, DB>,
    [table, of, other]: Relation,
    account: &'b DbId,
    column: impl Fn(AstPass<'_, 'b, DB>) -> QueryResult<()>,
) -> QueryResult<()>
where
    DB: Backend + HasSqlType<Id>,
    DbId: ToSql<Id, DB>,
{
    for part in ["(SELECT 1 FROM ", table, " r WHERE r.", of, " = "] {
        out.push_sql(part);
    }
    out.push_bind_param::<Id, _>(account)?;
    for part in [" AND r.", other, " = "] {
        out.push_sql(part);
    }
    column(out.reborrow())?;
    out.push_sql(") IS NOT NULL");
    Ok(())
}

/// The condition that the account `by` mutes the account in a column.
#[derive(Debug, Clone, Copy, QueryId, ValidGrouping)]
pub(crate) struct Muted<Column> {
    by: DbId,
    column: Column,
}

expression! { [Column] Muted<Column>: Bool, of Column }

impl<DB, Column> QueryFragment<DB> for Muted<Column>
where
    DB: Backend + HasSqlType<Id>,
    Column: QueryFragment<DB>,
    DbId: ToSql<Id, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        push_related(&mut out, MUTES, &self.by, |out| self.column.walk_ast(out))
    }
}

/// The condition by which timelines exclude an account: there is a block between it and the viewer, or the viewer mutes it.
type BlockedOrMuted<const SCOPE: u8, Column> = dsl::Or<Blocked<SCOPE, Column>, Muted<Column>>;

/// Extends a condition about blocks to accounts that the viewer mutes: the posts of these are not in the viewer's timelines
/// either.
pub(crate) fn or_muted<const SCOPE: u8, Column>(
    viewer: DbViewer,
    blocked: Blocked<SCOPE, Column>,
) -> BlockedOrMuted<SCOPE, Column>
where
    Blocked<SCOPE, Column>: Expression<SqlType = Bool>,
    Muted<Column>: Expression<SqlType = Bool>,
    Column: Copy,
{
    let muted = Muted { by: viewer.id, column: blocked.column };
    blocked.or(muted)
}
