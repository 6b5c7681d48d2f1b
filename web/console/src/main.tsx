// The console for administrators. It uses only the public HTTP interface.

import { Action, Title } from "../../shared/basics";
import { Navigation, type Places, show } from "../../shared/frame";
import { Login } from "../../shared/login";
import { route } from "../../shared/router";
import { isAdmin, logOut, type User } from "../../shared/session";
import "../../shared/theme";
import { AccountPage, Accounts } from "./accounts";
import { Audit } from "./audit";
import { Dashboard } from "./dashboard";
import { Mails } from "./mails";
import { Posts } from "./posts";
import { ProductPage, Products } from "./products";
import { Reports } from "./reports";
import { Backup, Configuration } from "./service";

const PLACES: Places = [
  ["", "Dashboard", "health"],
  ["reports", "Reports", "report"],
  ["accounts", "Accounts", "people"],
  ["posts", "Posts", "comment"],
  ["products", "Products", "products"],
  ["audit", "Audit log", "list"],
  ["mails", "Mail", "mail"],
  ["configuration", "Configuration", "settings"],
  ["backup", "Backup", "backup"],
];

function Place() {
  const { parts, query } = route.value;
  const [place = "", one] = parts;
  switch (place) {
    case "":
      return <Dashboard />;
    case "reports":
      return <Reports query={query} />;
    // Components that app and console share link users as `user`.
    case "user":
    case "accounts":
      return one === undefined ? <Accounts query={query} /> : <AccountPage key={one} id={one} />;
    case "posts":
      return <Posts query={query} />;
    case "products":
      return one === undefined ? <Products query={query} /> : <ProductPage key={one} id={one} />;
    case "audit":
      return <Audit query={query} />;
    case "mails":
      return <Mails query={query} />;
    case "configuration":
      return <Configuration />;
    case "backup":
      return <Backup />;
    default:
      return (
        <>
          <Title>Page not found</Title>
          <a href="#/">To the dashboard</a>
        </>
      );
  }
}

function Console({ user }: { user: User }) {
  if (!isAdmin(user)) {
    return (
      <main id="content" class="alone">
        <Title>Not for this account</Title>
        <p>The console is for administrators, and <bdi>{user.username}</bdi> is not one.</p>
        <Action does={logOut}>Log out</Action>
      </main>
    );
  }
  return (
    <>
      <Navigation places={PLACES}>
        <Action does={logOut}>Log out</Action>
      </Navigation>
      <main id="content">
        <Place />
      </main>
    </>
  );
}

function Visitor() {
  return (
    <main id="content" class="alone">
      <Login />
    </main>
  );
}

show({ member: (user) => <Console user={user} />, visitor: () => <Visitor /> });
