//! The images that rows refer to, and the record of unreferenced ones.

use agora_domain::Result;
use agora_domain::clock::Timestamp;
use agora_domain::id::{MediaId, PostId, UserId};
use agora_domain::media::{
    Attachment, ImageKey, ImageReferences, Preview, PreviewBacklog, Rendition, UnreferencedImages,
};
use async_trait::async_trait;
use uuid::Uuid;

use crate::sql_types::{DbId, DbInstant};
use crate::{Database, attachments, call};

#[async_trait]
impl UnreferencedImages for Database {
    async fn announce(&self, key: &ImageKey, at: Timestamp) -> Result<()> {
        let key = key.as_str().to_owned();
        call!(self, write_idempotent images::announce(key, DbInstant(at)))
    }

    async fn announce_upload(&self, owner: UserId, upload: &Attachment, at: Timestamp) -> Result<()> {
        let (key, text) = (upload.key.as_str().to_owned(), attachments::to_text(std::slice::from_ref(upload)));
        let owner = DbId(owner.uuid());
        call!(self, write_idempotent images::announce_upload(key, DbInstant(at), owner, text))
    }

    async fn find_uploads(&self, owner: UserId, ids: &[MediaId]) -> Result<Vec<Attachment>> {
        let (owner, keys) = (DbId(owner.uuid()), ids.iter().flat_map(|id| ImageKey::all_of(*id)).collect::<Vec<_>>());
        let keys = texts(&keys);
        let uploads = call!(self, read images::find_uploads(owner, keys))?;
        let mut found = Vec::with_capacity(uploads.len());
        for text in uploads {
            found.extend(attachments::from_text(&text)?);
        }
        Ok(found)
    }

    async fn mark_for_deletion(&self, cutoff: Timestamp, now: Timestamp, limit: usize) -> Result<Vec<ImageKey>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let keys = call!(self, write images::mark_for_deletion(DbInstant(cutoff), DbInstant(now), limit))?;
        Ok(keys.iter().filter_map(|text| ImageKey::parse(text)).collect())
    }

    async fn recorded(&self, keys: &[ImageKey]) -> Result<Vec<ImageKey>> {
        let keys = texts(keys);
        let keys = call!(self, read images::recorded(keys))?;
        Ok(keys.iter().filter_map(|text| ImageKey::parse(text)).collect())
    }

    async fn forget(&self, keys: &[ImageKey]) -> Result<()> {
        let keys = texts(keys);
        call!(self, write images::forget(keys))
    }
}

#[async_trait]
impl ImageReferences for Database {
    async fn referenced_in(&self, folder: u8) -> Result<Vec<(ImageKey, UserId)>> {
        let named = call!(self, read images::referenced_in(folder))?;
        Ok(named.iter().filter_map(|(key, owner)| Some((ImageKey::parse(key)?, owner.0.into()))).collect())
    }

    async fn referenced_of(&self, keys: &[ImageKey]) -> Result<Vec<ImageKey>> {
        let keys = texts(keys);
        let named = call!(self, read images::referenced_of(keys))?;
        Ok(named.iter().filter_map(|text| ImageKey::parse(text)).collect())
    }
}

#[async_trait]
impl PreviewBacklog for Database {
    async fn next(&self, before: Option<PostId>) -> Result<Option<(PostId, ImageKey)>> {
        let before = DbId(before.map_or(Uuid::max(), PostId::uuid));
        let found = call!(self, read images::without_preview(before))?;
        let Some((post, key)) = found else { return Ok(None) };
        Ok(Some((post.0.into(), attachments::parse_key(&key)?)))
    }

    async fn store(&self, post: PostId, key: &ImageKey, preview: Option<Preview>, at: Timestamp) -> Result<()> {
        let text = attachments::to_text(&[Attachment { preview, ..Attachment::bare(key.clone()) }]);
        let (post, key) = (DbId(post.uuid()), key.as_str().to_owned());
        call!(self, write images::describe(post, key, text, DbInstant(at)))
    }

    async fn next_picture(&self, before: Option<UserId>) -> Result<Option<(UserId, ImageKey)>> {
        let before = DbId(before.map_or(Uuid::max(), UserId::uuid));
        let found = call!(self, read images::without_small_picture(before))?;
        let Some((user, key)) = found else { return Ok(None) };
        Ok(Some((user.0.into(), attachments::parse_key(&key)?)))
    }

    async fn store_small(&self, user: UserId, key: &ImageKey, small: Rendition, at: Timestamp) -> Result<()> {
        let (user, small, key) = (DbId(user.uuid()), key.file_name(small), key.as_str().to_owned());
        call!(self, write images::describe_picture(user, key, small, DbInstant(at)))
    }
}

fn texts(keys: &[ImageKey]) -> Vec<String> {
    keys.iter().map(|key| key.as_str().to_owned()).collect()
}
