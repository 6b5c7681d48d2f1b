//! Who is left out of what somebody is shown: the conditions of the lists, in SQL that both databases read alike. Whoever is deleted is
//! left out of everything.

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

/// Who reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DbViewer {
    pub(crate) id: DbId,
    /// Whose blocks are looked at: nobody's, by the nil id, for one who sees all.
    pub(crate) apart: DbId,
    pub(crate) sees_all: bool,
}

impl DbViewer {
    pub(crate) fn of(Viewer { id, sees_all }: Viewer) -> Self {
        let id = DbId(id.uuid());
        Self { id, apart: if sees_all { DbId(Uuid::nil()) } else { id }, sees_all }
    }

    /// Returns an account as one who does not see all.
    pub(crate) fn ordinary(id: UserId) -> Self {
        Self::of(Viewer::ordinary(id))
    }
}

/// Whether the account in a column and an account are apart: one of them blocks the other.
///
/// In the rows of a list, whether anybody is apart from the account is asked once in a statement, and only then each row is looked up.
/// That is ordered, and not EXISTS, so that PostgreSQL goes by the index whatever it believes how many blocks an account has.
/// Lists leave out whoever was deleted by the same condition.
#[derive(Debug, Clone, Copy, ValidGrouping)]
pub(crate) struct Apart<const OF: u8, Column> {
    from: DbId,
    column: Column,
}

/// Of one row, where whether the account was deleted is asked apart from that.
pub(crate) const ROW: u8 = 0;
/// Of a list without the rows of the accounts.
pub(crate) const IDS: u8 = 1;
/// Of a list with the rows of the accounts.
pub(crate) const USERS: u8 = 2;
/// Of a list of accounts that are enabled, as no deleted one is.
pub(crate) const ENABLED: u8 = 3;

/// Returns whether the account in a column of one row and the viewer are apart.
pub(crate) const fn is_apart<Column>(viewer: DbViewer, column: Column) -> Apart<ROW, Column> {
    Apart { from: viewer.apart, column }
}

/// Returns whether the account in a column of the rows of a list and the viewer are apart, or the account was deleted.
pub(crate) const fn apart<Column>(viewer: DbViewer, column: Column) -> Apart<IDS, Column> {
    Apart { from: viewer.apart, column }
}

/// Returns the same of the accounts of a list that is joined with them, which costs less.
pub(crate) const fn apart_users(viewer: DbViewer) -> Apart<USERS, users::id> {
    Apart { from: viewer.apart, column: users::id }
}

/// Returns the same of accounts that are enabled, which the list MUST ask besides.
pub(crate) const fn apart_enabled<Column>(viewer: DbViewer, column: Column) -> Apart<ENABLED, Column> {
    Apart { from: viewer.apart, column }
}

// diesel cannot derive it with a constant.
impl<const OF: u8, Column: QueryId> QueryId for Apart<OF, Column> {
    type QueryId = Apart<OF, Column::QueryId>;

    const HAS_STATIC_QUERY_ID: bool = Column::HAS_STATIC_QUERY_ID;
}

expression! { [const OF: u8, Column] Apart<OF, Column>: Bool, of Column }

impl<const OF: u8, DB, Column> QueryFragment<DB> for Apart<OF, Column>
where
    DB: Backend + HasSqlType<Id>,
    Column: QueryFragment<DB>,
    DbId: ToSql<Id, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let column = |out: AstPass<'_, 'b, DB>| self.column.walk_ast(out);
        if OF == ROW {
            return push_pair(&mut out, BLOCKS, &self.from, column);
        }
        out.push_sql("(");
        push_apart(&mut out, &self.from, column)?;
        match OF {
            IDS => {
                out.push_sql(" OR ");
                push_erased(&mut out, column)?;
            }
            USERS => out.push_sql(" OR users.is_deleted"),
            _ => {}
        }
        out.push_sql(")");
        Ok(())
    }
}

/// Whether the account in a column was deleted, and is being erased: then nobody is shown anything of it. Where the row of the account is
/// at hand, `users.is_deleted` says the same.
#[derive(Debug, Clone, Copy, QueryId, ValidGrouping)]
pub(crate) struct Erased<Column>(Column);

/// Returns whether the account in a column was deleted.
pub(crate) const fn erased<Column>(column: Column) -> Erased<Column> {
    Erased(column)
}

expression! { [Column] Erased<Column>: Bool, of Column }

impl<DB: Backend, Column: QueryFragment<DB>> QueryFragment<DB> for Erased<Column> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        push_erased(&mut out, |out| self.0.walk_ast(out))
    }
}

/// Writes the condition that the account that `column` writes was deleted. There is hardly ever such an account: that is asked once
/// in a statement. With NULLIF, PostgreSQL takes it that hardly anybody was, where it would take it of everybody.
pub(crate) fn push_erased<'b, DB: Backend>(
    out: &mut AstPass<'_, 'b, DB>,
    column: impl Fn(AstPass<'_, 'b, DB>) -> QueryResult<()>,
) -> QueryResult<()> {
    out.push_sql("(NULLIF(1, (SELECT 1 FROM erasures e LIMIT 1)) IS NULL AND NULLIF(1, (SELECT 1 FROM erasures e WHERE e.user_id = ");
    column(out.reborrow())?;
    out.push_sql(")) IS NULL)");
    Ok(())
}

/// A table that relates accounts, and its columns.
type Relation = [&'static str; 3];

const BLOCKS: Relation = ["blocks", "user_id", "other_id"];
const MUTES: Relation = ["mutes", "muter_id", "muted_id"];

/// Writes the condition that the account that `column` writes, of the rows of a list, and an account are apart.
pub(crate) fn push_apart<'b, DB>(
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

/// Writes the condition that a table relates an account to anybody, and then to what `column` writes.
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

/// Writes the condition that a table relates an account to what `column` writes.
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

/// Whether the account in a column is muted by an account.
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

/// Whether the posts of an account are left out of the timelines of another one: the two are apart, or that one mutes it.
type LeftOut<const OF: u8, Column> = dsl::Or<Apart<OF, Column>, Muted<Column>>;

/// Returns whether the posts of the account are left out of the viewer's timelines, who is apart from it or not.
pub(crate) fn left_out<const OF: u8, Column>(viewer: DbViewer, apart: Apart<OF, Column>) -> LeftOut<OF, Column>
where
    Apart<OF, Column>: Expression<SqlType = Bool>,
    Muted<Column>: Expression<SqlType = Bool>,
    Column: Copy,
{
    let muted = Muted { by: viewer.id, column: apart.column };
    apart.or(muted)
}
