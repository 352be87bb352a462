import { useEffect, useRef, useState } from 'preact/hooks';
import { askMe, can, lostSince, session, signIn, signOut, useAsked, useLive } from './api.js';
import { Flash } from './flash.js';
import { zone } from './format.js';
import { pages } from './pages.js';
import { Confirmation } from './parts/confirmed.js';
import { Note, Shown, Time } from './parts/parts.js';
import type { Me, Scope } from './records.js';
import { pageHref, route, takeCode } from './route.js';
import { Search } from './search/search.js';
import { SignIn } from './sign-in.js';

export function App() {
  const [isReady, setReady] = useState(false);
  const [error, setError] = useState<string>();
  useEffect(() => {
    const code = takeCode();
    signIn(code === undefined ? {} : { code })
      // A code works once; the session that it made may still be there.
      .catch((cause: Error) => (setError(cause.message), code !== undefined && signIn({})))
      .catch(() => false)
      .finally(() => setReady(true));
    // A link for signing in may be pasted into a tab that is open.
    const look = (): void => {
      const pasted = takeCode();
      if (pasted !== undefined)
        void signIn({ code: pasted }).then(
          () => setError(undefined),
          (cause: Error) => setError(cause.message),
        );
    };
    addEventListener('hashchange', look);
    return () => removeEventListener('hashchange', look);
  }, []);
  if (!isReady) return <p class="quiet">Loading…</p>;
  return session.value === undefined ? (
    <SignIn key={error} {...(error === undefined ? {} : { error })} />
  ) : (
    // Nothing that an earlier session has read is shown in the next one.
    <Frame key={session.value.csrf} {...(error !== undefined && { error })} />
  );
}

/** `error`: of a link that was pasted. */
function Frame({ error }: { readonly error?: string }) {
  const main = useRef<HTMLElement>(null);
  const me = useLive('me', askMe);
  const { page: name, id } = route.value;
  const usable = Object.entries(pages).filter(([, { needs }]) => me.data !== undefined && can(...needs));
  const shown = Object.hasOwn(pages, name) ? name : (usable[0]?.[0] ?? 'overview');
  const isUnknown = name !== '' && !Object.hasOwn(pages, name);
  const {
    title,
    page: Page,
    needs,
  } = isUnknown ? { ...pages[shown]!, title: 'No such page' } : pages[shown]!;
  useEffect(() => {
    document.title = `${title} · Paymaster console`;
    scrollTo(0, 0);
  }, [title, id]);
  return (
    <div id="frame">
      <Navigation
        me={me.data}
        pages={usable}
        shown={shown}
        present={isUnknown ? undefined : shown}
        toPage={() => main.current?.focus({ preventScroll: true })}
      />
      <div>
        {lostSince.value !== undefined && (
          <p id="lost" class="note warn" role="status">
            No connection since <Time>{lostSince.value.toISOString()}</Time>. What you see is from then;
            trying again.
          </p>
        )}
        <main ref={main} tabIndex={-1}>
          {error !== undefined && <Note kind="error">That link did not sign you in: {error}</Note>}
          {me.data === undefined ? (
            <>
              <h1>{title}</h1>
              <Shown live={me}>{() => null}</Shown>
            </>
          ) : isUnknown ? (
            <>
              <h1>{title}</h1>
              <Note kind="warn">
                The console has no page “{name}”. <a href={pageHref(shown)}>{pages[shown]!.title}</a>
              </Note>
            </>
          ) : can(...needs) ? (
            <>
              <Flash />
              <Page />
            </>
          ) : (
            <NotFor title={title} needs={needs} token={me.data.token} />
          )}
          <footer class="quiet">
            Times are in {zone === 'UTC' ? 'UTC' : `${zone}; point at one for UTC`}. Steps of plots begin in
            UTC. Amounts are in the native coin of the chain, if nothing else is said.
          </footer>
        </main>
        <Confirmation />
      </div>
    </div>
  );
}

/** Beside the page; on a phone a line above it, with a button that opens the rest. `present`: the page that is open. */
function Navigation({
  me,
  pages: usable,
  shown,
  present,
  toPage,
}: {
  readonly me: Me | undefined;
  readonly pages: readonly (readonly [path: string, page: { readonly title: string }])[];
  readonly shown: string;
  readonly present: string | undefined;
  /** Gives the page the focus. */
  readonly toPage: () => void;
}) {
  const { ask, error } = useAsked<void>();
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const leave = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || !isOpen) return;
    setOpen(false);
    button.current?.focus();
  };
  // What was pressed in the menu is gone with it.
  const follow = (): void => {
    if (isOpen) toPage();
    setOpen(false);
  };
  return (
    <nav aria-label="Pages" onKeyDown={leave}>
      <a
        class="skip"
        href={pageHref(shown)}
        onClick={(event) => {
          event.preventDefault();
          toPage();
        }}
      >
        Skip to the page
      </a>
      <div class="brand">
        <img src="./icon.svg" alt="" />
        Paymaster
      </div>
      {me !== undefined && <Search />}
      <button
        ref={button}
        type="button"
        class="opens-menu"
        aria-expanded={isOpen}
        aria-controls="menu"
        onClick={() => setOpen(!isOpen)}
      >
        Menu
      </button>
      <div id="menu" class={isOpen ? 'open' : ''}>
        {usable.map(([path, { title }]) => (
          <a
            key={path}
            href={pageHref(path)}
            onClick={follow}
            {...(path === present ? { 'aria-current': 'page' as const } : {})}
          >
            {title}
          </a>
        ))}
        <div class="who">
          {me !== undefined && (
            <>
              <b>{me.organisation.name}</b>
              <br />
              <span class="quiet">
                token “{me.token.name}”
                {me.token.expiresAt !== null && (
                  <>
                    , until <Time>{me.token.expiresAt}</Time>
                  </>
                )}
              </span>
              <br />
            </>
          )}
          {error !== undefined && <Note kind="error">You are still signed in: {error.message}</Note>}
          <button type="button" onClick={() => void ask(signOut)}>
            Sign out
          </button>
        </div>
      </div>
    </nav>
  );
}

/** Somebody followed a link to a page of which this token may read nothing. */
function NotFor({
  title,
  needs,
  token,
}: {
  readonly title: string;
  readonly needs: readonly Scope[];
  readonly token: Me['token'];
}) {
  return (
    <>
      <h1>{title}</h1>
      <Note kind="warn">
        This page needs a token with the scope {[...needs, 'write'].join(' or ')}. The token “{token.name}”
        has {token.scopes.join(' and ')}.
      </Note>
    </>
  );
}
