"""The tour of the README, with a client generated from the OpenAPI document: run as
`python tour.py http://127.0.0.1:8080` against a service that knows neither Ada nor Bob."""

import base64
import io
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx

from agora import AuthenticatedClient, Client
from agora.api.authentication import login, register
from agora.api.comments import create_comment, list_comments
from agora.api.follows import toggle_follow
from agora.api.people import lookup_user
from agora.api.posts import create_post, get_following_feed, get_post, toggle_like
from agora.api.products import list_products
from agora.models import Credentials, ErrorCode, Failure, NewComment, NewPostForm, Registration
from agora.types import UNSET, File, Response

SERVICE = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"

T = TypeVar("T")


class Refused(Exception):
    """The service refused a request."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.status} {failure.code}: {failure.message}")
        self.failure = failure


def expect(answer: T | Failure | None) -> T:
    """Returns what a call that is meant to succeed returns."""
    if isinstance(answer, Failure):
        raise Refused(answer)
    assert answer is not None
    return answer


def pages(call: Callable[..., Response[Any]], *arguments: Any, **options: Any) -> Iterator[Any]:
    """Yields the pages of a list: the `Link` header of each names the next one."""
    cursor: Any = UNSET
    while True:
        response = call(*arguments, cursor=cursor, **options)
        yield expect(response.parsed)
        links = httpx.Response(200, headers=response.headers).links
        if "next" not in links:
            return
        cursor = parse_qs(urlsplit(links["next"]["url"]).query)["cursor"][0]


# Two people register and log in.
anybody = Client(base_url=SERVICE)


def join(username: str, password: str) -> AuthenticatedClient:
    email = f"{username}@example.org"
    expect(register.sync(client=anybody, body=Registration(username=username, email=email, password=password)))
    token = expect(login.sync(client=anybody, body=Credentials(identifier=email, password=password))).token
    return AuthenticatedClient(base_url=SERVICE, token=token)


ada = join("ada", "correct horse")
bob = join("bob", "battery staple")

# A field that is not valid is named, with a word for what is wrong about it.
refused = register.sync(client=anybody, body=Registration(username="eve", email="eve", password="short"))
assert isinstance(refused, Failure) and refused.code == ErrorCode.VALIDATION_FAILED
assert refused.codes and refused.codes.to_dict() == {"email": ["invalid_format"], "password": ["too_short"]}

# Ada publishes a post with a picture.
picture = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR42mM4YQMEJxggFAAjDgUBIzBI6wAAAABJRU5ErkJggg=="
)
form = NewPostForm(text="Hello, Agora!", image=File(io.BytesIO(picture), "picture.png", "image/png"))
post = expect(create_post.sync(client=ada, body=form)).data
assert post.content == "Hello, Agora!" and post.image
assert httpx.get(post.image).headers["Content-Type"] == "image/png"

# Bob finds her by her name, likes her post, comments on it and follows her. A like toggles: under a key it can be sent
# again, when no answer came.
found = expect(lookup_user.sync(client=bob, username="ADA")).data
assert found.id == post.author.id
key = str(uuid.uuid4())
for _ in range(2):
    liked = toggle_like.sync_detailed(post.id, client=bob, idempotency_key=key)
    assert expect(liked.parsed).message == "Post liked successfully"
assert liked.headers["Idempotency-Replayed"] == "true"
for content in ["Welcome", "How was the journey?", "Tell us more"]:
    expect(create_comment.sync(client=bob, body=NewComment(post_id=post.id, content=content)))
expect(toggle_follow.sync(found.id, client=bob))

# Her post is in his feed now, with his like.
feed = expect(get_following_feed.sync(client=bob, size=10)).data
assert feed[0].id == post.id and feed[0].liked_by_me and feed[0].like_count == 1

# Here are its comments, page by page.
comments = [
    comment.content
    for page in pages(list_comments.sync_detailed, post.id, client=ada, size=1)
    for comment in page.data
]
assert comments == ["Welcome", "How was the journey?", "Tell us more"]

# What has not changed since it was read is not sent again.
tag = get_post.sync_detailed(post.id, client=bob).headers["ETag"]
assert get_post.sync_detailed(post.id, client=bob, if_none_match=tag).status_code == 304

# The catalog is public, and empty until an administrator fills it.
products = expect(list_products.sync(client=anybody)).products
print(f"{len(feed)} post, {len(comments)} comments, {len(products)} products")
