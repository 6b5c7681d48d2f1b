// A text with links for its mentions, hashtags and URLs.

import type { components } from "@agora/client";
import type { ComponentChildren } from "preact";
import { at } from "./router";

type Entity = components["schemas"]["Entity"];

export function Text({ content, entities }: { content: string; entities: Entity[] }) {
  const parts: ComponentChildren[] = [];
  let end = 0;
  // Positions are in UTF-16 code units, as in JavaScript strings.
  for (const entity of entities) {
    parts.push(content.slice(end, entity.start), link(entity, content.slice(entity.start, entity.end)));
    end = entity.end;
  }
  parts.push(content.slice(end));
  return (
    <p class="text" dir="auto">
      {parts}
    </p>
  );
}

function link(entity: Entity, words: string) {
  switch (entity.type) {
    case "mention":
      return <a href={at("user", entity.userId)}>{words}</a>;
    case "hashtag":
      return <a href={at("tag", entity.tag)}>{words}</a>;
    case "url":
      return (
        <a href={entity.url} rel="noopener noreferrer nofollow" target="_blank">
          {words}
        </a>
      );
  }
}
