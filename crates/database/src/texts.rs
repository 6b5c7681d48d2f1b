//! The posts whose entities are not extracted yet.

use agora_domain::Result;
use agora_domain::id::PostId;
use agora_domain::posts::{ResolvedText, TextBacklog, UnresolvedText};
use async_trait::async_trait;

use crate::feeds::limit as rows;
use crate::rows::count;
use crate::sql_types::DbId;
use crate::{Database, call};

#[async_trait]
impl TextBacklog for Database {
    async fn count(&self) -> Result<u64> {
        Ok(count(call!(self, search texts::count_unresolved())?))
    }

    async fn list(&self, before: Option<PostId>, limit: usize) -> Result<Vec<UnresolvedText>> {
        let (before, limit) = (before.map(|post| DbId(post.uuid())), rows(limit));
        call!(self, search texts::list_unresolved(before, limit))
    }

    async fn store(&self, texts: Vec<ResolvedText>) -> Result<()> {
        call!(self, write texts::resolve_all(texts))
    }
}
