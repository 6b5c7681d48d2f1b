// The console: what administrators do, over the public interface alone.

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
    // Where a name leads to that both pages show.
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
          <Title>There is nothing here</Title>
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
        <p>The console is for administrators, and <bdi>{user.username}</bdi> is none.</p>
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

function Door() {
  return (
    <main id="content" class="alone">
      <Login />
    </main>
  );
}

show({ member: (user) => <Console user={user} />, visitor: () => <Door /> });
