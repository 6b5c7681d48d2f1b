// Profiles, and the search.

import type { components } from "@agora/client";
import { type Change, replaced, useList, useLoaded, without } from "../../../shared/load";
import { Action, Avatar, Choice, Input, List, More, Show, Title, UserLink } from "../../../shared/basics";
import { Follow, Person, type Profile } from "../parts/people";
import { Report } from "../parts/report";
import { QueryForm } from "../../../shared/query";
import { at } from "../../../shared/router";
import { agora, isAdmin, me } from "../../../shared/session";
import { count, exactly, nameOf } from "../../../shared/words";
import { ProductRow } from "./catalog";
import { Posts } from "./posts";

export function UserPage({ id, list }: { id: string; list: string | undefined }) {
  const path = { userId: id };
  const profile = useLoaded(async () => (await agora.get("/api/users/{userId}/profile", { params: { path } })).data, [id]);
  return (
    <Show of={profile} title="Profile">
      {(data) => (
        <>
          <Title small={<span class="faint">@<bdi>{data.username}</bdi></span>}>{nameOf(data)}</Title>
          <Card profile={data} onChange={profile.change} onRelate={profile.reload} />
          <nav class="tabs" aria-label="Of this user">
            <a href={at("user", id)} aria-current={list === undefined ? "page" : undefined}>
              {count(data.postCount, "post")}
            </a>
            <a href={at("user", id, "followers")} aria-current={list === "followers" ? "page" : undefined}>
              {data.followerCount === null ? "Followers" : count(data.followerCount, "follower")}
            </a>
            <a href={at("user", id, "followed")} aria-current={list === "followed" ? "page" : undefined}>
              {data.followedCount === null ? "Follows" : `Follows ${data.followedCount.toLocaleString("en")}`}
            </a>
          </nav>
          {data.relationship?.blocking && !isAdmin(me.value) ? (
            <p class="empty">You have blocked this user.</p>
          ) : list === "followers" || list === "followed" ? (
            <Follows key={`${list} ${data.relationship?.following}`} id={id} list={list} />
          ) : (
            <PostsOf key={String(data.relationship?.following)} id={id} />
          )}
        </>
      )}
    </Show>
  );
}

/** `onRelate` is called when the viewer may see more or less of the user than before. */
function Card(props: { profile: Profile; onChange: (change: Change<Profile>) => void; onRelate: () => void }) {
  const { profile, onChange, onRelate } = props;
  const { relationship } = profile;
  const path = { userId: profile.id };
  const change = (change: Partial<NonNullable<Profile["relationship"]>>) =>
    onChange((now) => ({ ...now, relationship: now.relationship && { ...now.relationship, ...change } }));
  return (
    <section class="card" aria-label="About">
      <div class="person">
        <Avatar user={profile} />
        <span class="faint">Here since {exactly(profile.createdAt)}</span>
        {relationship?.followedBy && <span class="tag">Follows you</span>}
        <Follow
          profile={profile}
          onChange={(change) => {
            onChange(change);
            onRelate();
          }}
        />
      </div>
      {profile.biography && <p dir="auto">{profile.biography}</p>}
      {relationship === null || profile.id === me.value?.id ? (
        <a href={at("settings")}>Edit your profile</a>
      ) : (
        <More label={relationship.blocking ? "Blocked" : relationship.muting ? "Muted" : "Mute, block, report"}>
          {relationship.muting ? (
            <Action
              does={async () => {
                await agora.delete("/api/users/{userId}/mute", { params: { path } });
                change({ muting: false });
              }}
            >
              Unmute
            </Action>
          ) : (
            <Action
              does={async () => {
                await agora.put("/api/users/{userId}/mute", { params: { path }, body: {} });
                change({ muting: true });
              }}
            >
              Mute: leave out this user's posts and notifications
            </Action>
          )}
          {relationship.blocking ? (
            <Action
              does={async () => {
                await agora.delete("/api/users/{userId}/block", { params: { path } });
                change({ blocking: false });
                onRelate();
              }}
            >
              Unblock
            </Action>
          ) : (
            <Action
              kind="danger"
              does={async () => {
                await agora.put("/api/users/{userId}/block", { params: { path } });
                change({ blocking: true, following: false, followedBy: false });
                onRelate();
              }}
            >
              Block: neither sees the other
            </Action>
          )}
          <Report type="USER" id={profile.id} />
        </More>
      )}
    </section>
  );
}

function PostsOf({ id }: { id: string }) {
  const path = { userId: id };
  const posts = useList(() => agora.list("/api/posts/user/{userId}", { params: { path, query: { size: 20 } } }), [id]);
  return <Posts of={posts} empty="There are no posts to see." />;
}

function Follows({ id, list }: { id: string; list: "followers" | "followed" }) {
  const options = { params: { path: { userId: id } } };
  const profiles = useList<Profile>(
    () =>
      list === "followers"
        ? agora.list("/api/users/{userId}/followers", options)
        : agora.list("/api/users/{userId}/followed", options),
    [id],
  );
  return (
    <List of={profiles} label={list === "followers" ? "Followers" : "Follows"} empty="There is nobody.">
      {(profile) => (
        <Person
          profile={profile}
          onChange={(change) => profiles.change((items) => replaced(items, profile, change))}
        />
      )}
    </List>
  );
}

const TYPES = [
  ["posts", "Posts"],
  ["users", "People"],
  ["products", "Products"],
] as const;
type Type = (typeof TYPES)[number][0];

export function Search({ query }: { query: URLSearchParams }) {
  const q = query.get("q") ?? "";
  const type = TYPES.map(([type]) => type).find((type) => type === query.get("type")) ?? "posts";
  return (
    <>
      <Title>Search</Title>
      <QueryForm label="Search" submit="Search" place="search" asked={{ type, q }}>
        <Input label="Words, “a phrase”, or #tag" name="q" type="search" value={q} required maxLength={200} />
        <Choice label="Search in" name="type" value={type} of={TYPES} />
      </QueryForm>
      {q ? <Found key={`${type} ${q}`} q={q} type={type} /> : <Directory />}
    </>
  );
}

type Schemas = components["schemas"];

function Found({ q, type }: { q: string; type: Type }) {
  const nothing = "Nothing was found.";
  // The type of the results is the one that was requested.
  const found = <T,>() =>
    agora.list("/api/search", { params: { query: { type, q } } }) as unknown as AsyncGenerator<T, void, void>;
  switch (type) {
    case "posts":
      return <FoundPosts list={found} empty={nothing} />;
    case "users":
      return <People list={found} label="Found" empty={nothing} />;
    case "products":
      return <FoundProducts list={found} empty={nothing} />;
  }
}

interface FoundProps<T> {
  list: () => AsyncGenerator<T, void, void>;
  empty: string;
}

function FoundPosts({ list, empty }: FoundProps<Schemas["PostByPublicAuthor"]>) {
  return <Posts of={useList(list, [])} empty={empty} />;
}

function FoundProducts({ list, empty }: FoundProps<Schemas["Product"]>) {
  return (
    <List of={useList(list, [])} label="Found" empty={empty}>
      {(product) => <ProductRow product={product} />}
    </List>
  );
}

function Directory() {
  return (
    <>
      <h2>New here</h2>
      <People list={() => agora.list("/api/users/directory")} label="New here" empty="There is nobody yet." />
    </>
  );
}

function People(props: { list: () => AsyncGenerator<Profile, void, void>; label: string; empty: string }) {
  const profiles = useList(props.list, []);
  return (
    <List of={profiles} label={props.label} empty={props.empty}>
      {(profile) => (
        <Person profile={profile} onChange={(change) => profiles.change((items) => replaced(items, profile, change))} />
      )}
    </List>
  );
}

/** The users that the viewer has blocked or muted, with buttons that undo it. */
export function BlockedOrMuted({ of }: { of: "blocks" | "mutes" }) {
  const profiles = useList<Profile>(
    () => (of === "blocks" ? agora.list("/api/users/me/blocks") : agora.list("/api/users/me/mutes")),
    [of],
  );
  return (
    <List of={profiles} label={of === "blocks" ? "Blocked" : "Muted"} empty="There is nobody.">
      {(profile) => (
        <div class="person">
          <Avatar user={profile} />
          <UserLink user={profile} />
          <Action
            label={`${of === "blocks" ? "Unblock" : "Unmute"} ${profile.username}`}
            does={async () => {
              const path = { userId: profile.id };
              await (of === "blocks"
                ? agora.delete("/api/users/{userId}/block", { params: { path } })
                : agora.delete("/api/users/{userId}/mute", { params: { path } }));
              profiles.change((items) => without(items, profile));
            }}
          >
            {of === "blocks" ? "Unblock" : "Unmute"}
          </Action>
        </div>
      )}
    </List>
  );
}
