// The pictures of a post.

import type { components } from "@agora/client";
import { decode } from "blurhash";
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

type Attachment = components["schemas"]["Attachment"];

/** A single picture as large as there is room, several as thumbnails with links to the pictures. */
export function Pictures({ of: attachments }: { of: Attachment[] }) {
  const [first] = attachments;
  if (!first) return null;
  if (attachments.length === 1) return <Picture key={first.id} of={first} src={first.url} place={placeOf(first)} />;
  return (
    <ul class="pictures" aria-label="Pictures">
      {attachments.map((attachment, n) => (
        <li key={attachment.id}>
          <a href={attachment.url} target="_blank" rel="noopener" aria-label={attachment.alt ?? `Picture ${n + 1}`}>
            <Picture of={attachment} src={attachment.thumbnailUrl ?? attachment.url} />
          </a>
        </li>
      ))}
    </ul>
  );
}

/** Returns the style that reserves the space of a picture until it is loaded, if its size is known. */
function placeOf({ width, height }: Attachment) {
  if (!width || !height) return {};
  return { width: `min(100%, ${width}px, ${(32 * width) / height}rem)`, aspectRatio: `${width} / ${height}` };
}

/** A picture, covered by its blurhash until it is loaded or fails to load. */
function Picture({ of: { alt, blurhash }, src, place = {} }: { of: Attachment; src: string; place?: JSX.CSSProperties }) {
  const [hasEnded, setHasEnded] = useState(false);
  const end = () => setHasEnded(true);
  return (
    <span class="picture" style={place}>
      <img src={src} alt={alt ?? "Picture without a description"} loading="lazy" onLoad={end} onError={end} />
      {blurhash && !hasEnded && <Blur hash={blurhash} />}
    </span>
  );
}

// In pixels. This is enough, because a blurhash has no details; the browser scales it.
const SIDE = 32;

function Blur({ hash }: { hash: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const pixels = new Uint8ClampedArray(decode(hash, SIDE, SIDE));
    canvas.current?.getContext("2d")?.putImageData(new ImageData(pixels, SIDE, SIDE), 0, 0);
  }, [hash]);
  return <canvas ref={canvas} width={SIDE} height={SIDE} aria-hidden="true" />;
}
