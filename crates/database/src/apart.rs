//! Who is left out of what somebody is shown: the conditions of the lists, in SQL that both databases read alike. Whoever is deleted is
//! left out of everything.

use agora_domain::accounts::Viewer;
use agora_domain::id::UserId;
use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::expression::{AppearsOnTable, Expression, SelectableExpression, ValidGrouping};
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{Bool, HasSqlType};
use uuid::Uuid;

use crate::expression::expression;
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
/// `LISTED` is for lists, which leave out whoever is [erased](Erased) by the same condition: whether anybody is apart from the account is
/// asked once in a statement, and only then each row is looked up.
/// That is ordered, and not EXISTS, so that PostgreSQL goes by the index whatever it believes how many blocks an account has.
#[derive(Debug, Clone, Copy, ValidGrouping)]
pub(crate) struct Apart<const LISTED: bool, Column> {
    from: DbId,
    column: Column,
}

/// Returns whether the account in a column of the rows of a list and the viewer are apart.
pub(crate) const fn apart<Column>(viewer: DbViewer, column: Column) -> Apart<true, Column> {
    Apart { from: viewer.apart, column }
}

/// Returns whether the account in a column of one row and the viewer are apart.
pub(crate) const fn is_apart<Column>(viewer: DbViewer, column: Column) -> Apart<false, Column> {
    Apart { from: viewer.apart, column }
}

// diesel cannot derive it with a constant.
impl<const LISTED: bool, Column: QueryId> QueryId for Apart<LISTED, Column> {
    type QueryId = Apart<LISTED, Column::QueryId>;

    const HAS_STATIC_QUERY_ID: bool = Column::HAS_STATIC_QUERY_ID;
}

impl<const LISTED: bool, Column> Expression for Apart<LISTED, Column> {
    type SqlType = Bool;
}

impl<const LISTED: bool, Column: AppearsOnTable<Source>, Source> AppearsOnTable<Source> for Apart<LISTED, Column> {}

impl<const LISTED: bool, Column: SelectableExpression<Source>, Source> SelectableExpression<Source>
    for Apart<LISTED, Column>
{
}

impl<const LISTED: bool, DB, Column> QueryFragment<DB> for Apart<LISTED, Column>
where
    DB: Backend + HasSqlType<Id>,
    Column: QueryFragment<DB>,
    DbId: ToSql<Id, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let column = |out: AstPass<'_, 'b, DB>| self.column.walk_ast(out);
        if LISTED { push_apart(&mut out, &self.from, column) } else { push_pair(&mut out, BLOCKS, &self.from, column) }
    }
}

/// Whether the account in a column was deleted, and is being erased: then nobody is shown anything of it.
#[derive(Debug, Clone, Copy, QueryId, ValidGrouping)]
pub(crate) struct Erased<Column>(Column);

/// Returns whether the account in a column was deleted.
pub(crate) const fn erased<Column>(column: Column) -> Erased<Column> {
    Erased(column)
}

expression! { Erased<Column>: Bool, of Column }

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

/// Writes the condition that lists leave out the account that `column` writes: it and an account are apart, or it was deleted.
pub(crate) fn push_apart<'b, DB>(
    out: &mut AstPass<'_, 'b, DB>,
    account: &'b DbId,
    column: impl Fn(AstPass<'_, 'b, DB>) -> QueryResult<()>,
) -> QueryResult<()>
where
    DB: Backend + HasSqlType<Id>,
    DbId: ToSql<Id, DB>,
{
    out.push_sql("(");
    push_related(out, BLOCKS, account, &column)?;
    out.push_sql(" OR ");
    push_erased(out, column)?;
    out.push_sql(")");
    Ok(())
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
    out.push_sql(&format!("((SELECT 1 FROM {table} r WHERE r.{of} = "));
    out.push_bind_param::<Id, _>(account)?;
    out.push_sql(&format!(" ORDER BY r.{other} LIMIT 1) IS NOT NULL AND "));
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
    out.push_sql(&format!("(SELECT 1 FROM {table} r WHERE r.{of} = "));
    out.push_bind_param::<Id, _>(account)?;
    out.push_sql(&format!(" AND r.{other} = "));
    column(out.reborrow())?;
    out.push_sql(") IS NOT NULL");
    Ok(())
}

/// Whether the posts of the account in a column are left out of the timelines of an account: the two are apart, or it mutes the
/// other.
#[derive(Debug, Clone, Copy, QueryId, ValidGrouping)]
pub(crate) struct LeftOut<Column> {
    apart: Apart<true, Column>,
    muter: DbId,
}

/// Returns whether the posts of the account in a column are left out of the viewer's timelines.
pub(crate) const fn left_out<Column>(viewer: DbViewer, column: Column) -> LeftOut<Column> {
    LeftOut { apart: apart(viewer, column), muter: viewer.id }
}

expression! { LeftOut<Column>: Bool, of Column }

impl<DB, Column> QueryFragment<DB> for LeftOut<Column>
where
    DB: Backend + HasSqlType<Id>,
    Column: QueryFragment<DB>,
    DbId: ToSql<Id, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("(");
        self.apart.walk_ast(out.reborrow())?;
        out.push_sql(" OR ");
        push_related(&mut out, MUTES, &self.muter, |out| self.apart.column.walk_ast(out))?;
        out.push_sql(")");
        Ok(())
    }
}
