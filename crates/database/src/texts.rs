//! The backlog of texts whose entities have not been extracted yet.

use agora_domain::Result;
use agora_domain::texts::{ResolvedText, TextBacklog, TextKind, UnresolvedText};
use async_trait::async_trait;
use uuid::Uuid;

use crate::feeds::limit as rows;
use crate::rows::count;
use crate::sql_types::DbId;
use crate::{Database, call};

#[async_trait]
impl TextBacklog for Database {
    async fn count(&self) -> Result<u64> {
        Ok(count(call!(self, search texts::count_unresolved())?))
    }

    async fn list(&self, kind: TextKind, before: Option<Uuid>, limit: usize) -> Result<Vec<UnresolvedText>> {
        let (before, limit) = (DbId(before.unwrap_or(Uuid::max())), rows(limit));
        call!(self, search texts::list_unresolved(kind, before, limit))
    }

    async fn store(&self, kind: TextKind, texts: Vec<ResolvedText>) -> Result<()> {
        call!(self, write texts::resolve_all(kind, texts))
    }
}
