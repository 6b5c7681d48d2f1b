// A user in a list, and the button to follow.

import type { components } from "@agora/client";
import type { Change } from "../../../shared/load";
import { agora, me } from "../../../shared/session";
import { Action, Avatar, UserLink } from "../../../shared/basics";

export type Profile = components["schemas"]["Profile"];

export function Person({ profile, onChange }: { profile: Profile; onChange: (change: Change<Profile>) => void }) {
  return (
    <div class="person">
      <Avatar user={profile} />
      <UserLink user={profile} />
      <Follow profile={profile} onChange={onChange} />
      {profile.biography && <p dir="auto">{profile.biography}</p>}
    </div>
  );
}

/** The button that follows and unfollows. */
export function Follow({ profile, onChange }: { profile: Profile; onChange: (change: Change<Profile>) => void }) {
  const { relationship } = profile;
  // Users cannot follow themselves, or users whom they block.
  if (relationship === null || profile.id === me.value?.id || relationship.blocking) return null;
  const { following } = relationship;
  async function toggle() {
    const path = { followedId: profile.id };
    const follow = "/api/follow/{followedId}";
    await (following ? agora.delete(follow, { params: { path } }) : agora.put(follow, { params: { path } }));
    onChange(({ followerCount, relationship, ...now }) => ({
      ...now,
      followerCount: followerCount === null ? null : followerCount + (following ? -1 : 1),
      relationship: relationship && { ...relationship, following: !following },
    }));
  }
  return (
    <Action does={toggle} kind={following ? "plain" : "main"} label={`${following ? "Unfollow" : "Follow"} ${profile.username}`}>
      {following ? "Unfollow" : "Follow"}
    </Action>
  );
}
