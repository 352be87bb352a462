import { useEffect, useRef, useState } from 'preact/hooks';
import { call, session, signIn, signOut, type Me } from './api.js';
import { time, zone } from './format.js';
import { lostSince, useLive } from './live.js';
import { pages } from './pages.js';
import { Note } from './parts/parts.js';
import { hrefOf, route, takeCode } from './route.js';
import { SignIn } from './sign-in.js';

export function App() {
  const [isReady, setReady] = useState(false);
  const [error, setError] = useState<string>();
  useEffect(() => {
    const code = takeCode();
    signIn(code === undefined ? {} : { code })
      // A code that was used already may have made the session that is there.
      .catch((cause: Error) => (setError(cause.message), code !== undefined && signIn({})))
      .catch(() => false)
      .finally(() => setReady(true));
  }, []);
  if (!isReady) return <p class="quiet">Loading…</p>;
  return session.value === undefined ? <SignIn {...(error === undefined ? {} : { error })} /> : <Frame />;
}

function Frame() {
  const main = useRef<HTMLElement>(null);
  const me = useLive('me', () => call<Me>('/manage/v1/me'));
  const { page: name, id } = route.value;
  const shown = Object.hasOwn(pages, name) ? name : 'overview';
  const { title, page: Page } = pages[shown]!;
  const [fault, setFault] = useState<string>();
  useEffect(() => {
    document.title = `${title} · Paymaster console`;
    scrollTo(0, 0);
  }, [title, id]);
  return (
    <div id="frame">
      <nav aria-label="Pages">
        <a
          class="skip"
          href={hrefOf(shown)}
          onClick={(event) => {
            event.preventDefault();
            main.current?.focus();
          }}
        >
          Skip to the page
        </a>
        <div class="brand">
          <img src="./icon.svg" alt="" />
          Paymaster
        </div>
        {Object.entries(pages).map(([path, { title: label }]) => (
          <a key={path} href={hrefOf(path)} {...(path === shown ? { 'aria-current': 'page' as const } : {})}>
            {label}
          </a>
        ))}
        <div class="who">
          {me.data !== undefined && (
            <>
              <b>{me.data.organisation.name}</b>
              <br />
              <span class="quiet">
                token “{me.data.token.name}”
                {me.data.token.expiresAt === null ? '' : `, until ${time(me.data.token.expiresAt)}`}
              </span>
              <br />
            </>
          )}
          {fault !== undefined && <Note kind="error">You are still signed in: {fault}</Note>}
          <button
            type="button"
            onClick={() => void signOut().catch(({ message }: Error) => setFault(message))}
          >
            Sign out
          </button>
        </div>
      </nav>
      <div>
        {lostSince.value !== undefined && (
          <p id="lost" class="note warn" role="status">
            No connection since {time(lostSince.value.toISOString())}. What you see is from then; trying
            again.
          </p>
        )}
        <main ref={main} tabIndex={-1}>
          <Page />
          <footer class="quiet">
            Times are in {zone === 'UTC' ? 'UTC' : `${zone}; point at one for UTC`}. Steps of plots begin in
            UTC. Amounts are in the native coin of the chain, if nothing else is said.
          </footer>
        </main>
      </div>
    </div>
  );
}
