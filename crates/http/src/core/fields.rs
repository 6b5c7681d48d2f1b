//! How clients spell the inputs of use cases (docs/openapi.json), in bodies, queries and failures.

use agora_domain::error::FieldName;

/// Declares the spelling of each field, and the functions that translate in either direction.
macro_rules! spellings {
    ($($field:ident $spelling:literal,)+) => {
        /// Returns how clients spell a field.
        pub(crate) const fn spelling(field: FieldName) -> &'static str {
            match field {
                $(FieldName::$field => $spelling,)+
            }
        }

        /// Returns the field with this spelling.
        pub(crate) fn field_spelled(spelling: &str) -> Option<FieldName> {
            match spelling {
                $($spelling => Some(FieldName::$field),)+
                _ => None,
            }
        }
    };
}

spellings! {
    Username "username",
    Email "email",
    Password "password",
    DisplayName "displayName",
    Discoverable "discoverable",
    Searchable "searchable",
    HideCounts "hideCounts",
    Biography "biography",
    ProfilePicture "profilePicture",
    RemoveProfilePicture "removeProfilePicture",
    Identifier "identifier",
    CurrentPassword "currentPassword",
    NewPassword "newPassword",
    Role "roleId",
    Action "action",
    Enabled "enabled",
    Text "text",
    Visibility "visibility",
    Image "image",
    RemoveImage "removeImage",
    Media "mediaIds",
    Alt "alt",
    Post "postId",
    Comment "commentId",
    ReplyTo "replyToId",
    User "id",
    Content "content",
    Sku "sku",
    Name "name",
    Description "description",
    Price "price",
    Category "category",
    Stock "stock",
    Variants "variants",
    Images "images",
    SearchText "q",
    PageSize "size",
    Position "cursor",
    Order "order",
    CreatedBefore "createAt",
    Kind "type",
    SearchAuthor "from",
    UpTo "upTo",
    UpdatedAt "updatedAt",
    Topics "topics",
    LikePolicy "like",
    CommentPolicy "comment",
    ReplyPolicy "reply",
    MentionPolicy "mention",
    FollowPolicy "follow",
    CommentLikePolicy "commentLike",
    ReportPolicy "report",
    MuteHours "hours",
    CommentAuthor "author",
    Hidden "hidden",
    Reason "reason",
    ReportTargetKind "targetType",
    ReportTarget "targetId",
    Status "status",
    Token "token",
    ReportNote "note",
    AuditActor "actor",
    AuditTarget "target",
}
