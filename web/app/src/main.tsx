// The reference client for members. It uses only the public HTTP interface.

import { unread, useCounts } from "./live";
import { Login } from "../../shared/login";
import { Avatar, Title } from "../../shared/basics";
import { Navigation, type Places, show } from "../../shared/frame";
import { Catalog, ProductPage } from "./pages/catalog";
import { Forgot, Register } from "./pages/registration";
import { Notifications } from "./pages/notifications";
import { Search, UserPage } from "./pages/people";
import { Bookmarks, Feed, PostPage, Public, Tag } from "./pages/posts";
import { Settings } from "./pages/settings";
import { at, route } from "../../shared/router";
import { sessionEndReason, me } from "../../shared/session";
import "../../shared/theme";

const PLACES: Places = [
  ["", "Home", "home"],
  ["public", "Public", "public"],
  ["search", "Search", "search"],
  ["notifications", "Notifications", "notifications"],
  ["bookmarks", "Bookmarks", "bookmarks"],
  ["products", "Products", "products"],
  ["settings", "Settings", "settings"],
];

function Place() {
  const { parts, query } = route.value;
  const [place = "", one = "", two] = parts;
  switch (place) {
    case "":
      return <Feed />;
    case "public":
      return <Public />;
    case "search":
      return <Search query={query} />;
    case "notifications":
      return <Notifications />;
    case "bookmarks":
      return <Bookmarks />;
    case "settings":
      return <Settings />;
    case "products":
      return <Catalog query={query} />;
    case "product":
      return <ProductPage key={one} id={one} />;
    case "post":
      return <PostPage key={one} id={one} />;
    case "user":
      return <UserPage key={one} id={one} list={two} />;
    case "tag":
      return <Tag key={one} tag={one} />;
    default:
      return (
        <>
          <Title>Page not found</Title>
          <a href="#/">Go home</a>
        </>
      );
  }
}

function Member() {
  useCounts();
  const badge = unread.value > 0 && (
    <span class="badge">
      {unread.value}
      <span class="hidden"> unread</span>
    </span>
  );
  return (
    <>
      <Navigation places={PLACES} badges={{ notifications: badge }}>
        {me.value && (
          <a href={at("user", me.value.id)} class="me" aria-label="Your profile">
            <Avatar user={me.value} />
          </a>
        )}
      </Navigation>
      <main id="content">
        <Place />
      </main>
    </>
  );
}

/** The pages for visitors who are not logged in. */
function Visitor() {
  const { parts, query } = route.value;
  const [place, one = ""] = parts;
  return (
    <main id="content" class="alone">
      {place === "register" ? (
        <Register />
      ) : place === "forgot" ? (
        <Forgot />
      ) : place === "products" || place === "product" ? (
        <>
          {sessionEndReason.value && <p role="status">{sessionEndReason.value}</p>}
          {place === "products" ? <Catalog query={query} /> : <ProductPage key={one} id={one} />}
          <p>
            <a href="#/">Log in</a>
          </p>
        </>
      ) : (
        <>
          <Login />
          <p>
            <a href={at("register")}>Register</a> · <a href={at("forgot")}>Forgot your password?</a>
          </p>
        </>
      )}
      <p>
        <a href="#/products">Products</a>
      </p>
    </main>
  );
}

show({ member: () => <Member />, visitor: () => <Visitor /> });
