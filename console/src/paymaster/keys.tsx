import { useState } from 'preact/hooks';
import type { Answers } from '../answers.js';
import { call, can, request, useLive } from '../api.js';
import { count } from '../format.js';
import { ifSure } from '../parts/confirmed.js';
import { Snippet } from '../parts/copy.js';
import { type Change, Field, InView, OpenForm, Options, OutcomeNote, useOutcome } from '../parts/form.js';
import { Badge, Card, Note, Shown, Table, Time } from '../parts/parts.js';
import type { Known } from '../paymasters.js';
import { pageHref } from '../route.js';
import { snippets } from './snippets.js';

type NamedKey = Answers['listPaymasterKeys']['items'][number];
type SecretKey = Answers['showPaymasterKey'];

/** Keys of a paymaster by name: one for each program or partner, with restrictions, replaced and revoked alone. */
export function Keys({ paymaster }: { readonly paymaster: Known }) {
  const { object } = paymaster;
  const path = `/manage/v1/paymasters/${object}/keys`;
  const keys = useLive(`keys ${object}`, async () => (await call<Answers['listPaymasterKeys']>(path)).items);
  const [made, setMade] = useState<SecretKey>();
  const { outcome, run } = useOutcome(keys.reload);
  const mayChange = can();
  const revoke = ({ name }: NamedKey): Change =>
    ifSure(
      {
        title: `Revoke “${name}”?`,
        says: 'What uses it is refused, for good. A key that is added with this name later is another one. The other keys go on.',
        button: 'Revoke',
      },
      async () => {
        const answer = await request(`${path}/${encodeURIComponent(name)}`, { method: 'DELETE' });
        if (made?.name === name) setMade(undefined);
        return describeWhenServed(answer, `“${name}” is revoked: it is refused`);
      },
    );
  const replace = (key: NamedKey): Change =>
    ifSure(
      {
        title: `Replace “${key.name}”?`,
        says: 'What uses the present key is refused at once. To let both work for a while, add a key with another name instead, and revoke this one later.',
        button: 'Replace',
      },
      async () => {
        const { name } = key;
        const answer = await raiseGeneration(object, key);
        setMade(await call<SecretKey>(`${path}/${encodeURIComponent(name)}`));
        return describeWhenServed(answer, `“${name}” has a new key: the one before is refused`);
      },
    );
  return (
    <Card title="Keys by name">
      <p class="quiet">
        One for each program or partner. The apiKey, which has no name and none of these restrictions, is on
        the page <a href={pageHref('paymaster', { tab: 'connect' }, object)}>Connect</a>.
      </p>
      <OutcomeNote outcome={outcome} />
      <OnceShown made={made} paymaster={paymaster} onCopied={() => setMade(undefined)} />
      <Shown
        live={keys}
        empty={`No key has a name yet.${mayChange ? ' Add one for each program or partner, so that it can be revoked alone.' : ''}`}
      >
        {(all) => (
          <Table
            caption="Keys"
            id={({ name }) => name}
            rows={all}
            columns={[
              { name: 'Key', of: ({ name }) => <span class="whole">{name}</span>, by: ({ name }) => name },
              { name: 'Generation', isNumber: true, of: ({ generation }) => count(generation) },
              { name: 'Expires', of: renderExpiry, by: ({ expiresAt }) => expiresAt ?? undefined },
              { name: 'Networks', of: ({ cidrs }) => formatNetworks(cidrs) },
              { name: 'Rate limit', of: ({ rateLimit }) => formatRate(rateLimit) },
              { name: 'Campaign', of: ({ campaign }) => campaign ?? 'any' },
              { name: 'Fingerprint', of: ({ fingerprint }) => <code>{fingerprint}</code> },
              {
                name: 'Actions',
                of: (key) => (
                  <span class={mayChange ? 'actions whole' : ''}>
                    <a
                      class="button"
                      href={pageHref('activity', { paymasterId: paymaster.paymasterId, key: key.name })}
                      aria-label={`Activity of ${key.name}`}
                    >
                      Activity
                    </a>
                    {mayChange && (
                      <>
                        <button
                          type="button"
                          aria-label={`Replace ${key.name}`}
                          onClick={() => void run(replace(key))}
                        >
                          Replace
                        </button>
                        <button
                          type="button"
                          class="danger"
                          aria-label={`Revoke ${key.name}`}
                          onClick={() => void run(revoke(key))}
                        >
                          Revoke
                        </button>
                      </>
                    )}
                  </span>
                ),
              },
            ]}
          />
        )}
      </Shown>
      {mayChange && <NewNamedKey path={path} onMade={setMade} onDone={keys.reload} />}
    </Card>
  );
}

/** Gives a key the next generation. What somebody else has changed meanwhile is not overwritten. */
async function raiseGeneration(object: string, { name, generation }: NamedKey): Promise<Response> {
  const path = `/manage/v1/paymasters/${object}`;
  const present = await request(path);
  const { data } = (await present.json()) as { readonly data: { readonly spec: Keyed } };
  const keys = data.spec.keys?.map((key) =>
    key.name === name ? { ...key, generation: generation + 1 } : key,
  );
  const etag = present.headers.get('etag');
  return request(path, {
    method: 'PATCH',
    body: { spec: { keys } },
    ...(etag !== null && { headers: { 'if-match': etag } }),
  });
}

type Keyed = { readonly keys?: readonly { readonly name: string }[] };

const periods: Readonly<Record<number, string>> = { 1: 'a second', 60: 'a minute', 3600: 'an hour' };

function formatRate(rate: NamedKey['rateLimit']): string {
  if (rate === null) return 'none';
  return `${count(rate.requests)} ${periods[rate.perSeconds] ?? `in ${count(rate.perSeconds)} seconds`}`;
}

function formatNetworks(cidrs: NamedKey['cidrs']): string {
  if (cidrs === null) return 'all';
  return cidrs.length === 0 ? 'none' : cidrs.join(', ');
}

function renderExpiry({ expiresAt }: NamedKey) {
  if (expiresAt === null) return 'never';
  return (
    <>
      <Time>{expiresAt}</Time> {Date.parse(expiresAt) <= Date.now() && <Badge of="expired">expired</Badge>}
    </>
  );
}

/** A header says whether the servers are being told already; each hears of it within a second. */
function describeWhenServed(answer: Response, says: string): string {
  const isTold = answer.headers.get('x-programmed') === 'true';
  return `${says} ${isTold ? 'within a second.' : 'once the servers are told; Problems says what keeps them from it.'}`;
}

/** Adds a key; all but its name may be left empty. */
function NewNamedKey({
  path,
  onMade,
  onDone,
}: {
  readonly path: string;
  readonly onMade: (key: SecretKey) => void;
  readonly onDone: () => void;
}) {
  return (
    <OpenForm
      title="Add a key"
      isEmptied
      onDone={onDone}
      send={async ({ name = '', expiresAt, cidrs = '', requests, perSeconds, campaign }) => {
        const networks = cidrs.split(/[\s,]+/).filter((each) => each !== '');
        const body = {
          name,
          ...(expiresAt && { expiresAt: new Date(expiresAt).toISOString() }),
          ...(networks.length > 0 && { cidrs: networks }),
          ...(requests && { rateLimit: { requests: Number(requests), perSeconds: Number(perSeconds) } }),
          ...(campaign && { campaign }),
        };
        const answer = await request(path, { method: 'POST', body });
        onMade(((await answer.json()) as { readonly data: SecretKey }).data);
        return describeWhenServed(answer, `“${name}” is added: it is accepted`);
      }}
    >
      <Field label="Name, e.g. web or partner-a" name="name" />
      <Field label="Expires (left empty: never)" name="expiresAt" type="datetime-local" isOptional />
      <Field label="Networks (left empty: all), e.g. 203.0.113.0/24" name="cidrs" isOptional />
      <Field
        label="Most requests (left empty: no limit)"
        name="requests"
        isOptional
        inputMode="numeric"
        pattern="[0-9]+"
      />
      <Options label="In" name="perSeconds" of={periods} value="60" />
      <Field label="Campaign (left empty: every one)" name="campaign" isOptional />
    </OpenForm>
  );
}

/** The address with a key that was just made, and code with it: nothing else shows it again. */
function OnceShown({
  made,
  paymaster: { chainId },
  onCopied,
}: {
  readonly made: SecretKey | undefined;
  readonly paymaster: Known;
  readonly onCopied: () => void;
}) {
  const [library, setLibrary] = useState('');
  const url = made && `${location.origin}/api/v1/${chainId}/${made.key}`;
  const chosen = snippets.find(({ title }) => title === library);
  return (
    <InView of={made}>
      {made && url && (
        <section class="once" aria-label={`The new key “${made.name}”`}>
          <Note kind="warn">
            Copy it now: this page shows it once. Everybody who has it can ask this paymaster to pay, within
            your rules.
          </Note>
          <Snippet text={url} label="JSON-RPC address" />
          <div class="row">
            <Options
              label="Code for"
              name="library"
              of={{ '': 'none', ...Object.fromEntries(snippets.map(({ title }) => [title, title])) }}
              value={library}
              onChoose={setLibrary}
            />
            <button type="button" onClick={onCopied}>
              I have copied it
            </button>
          </div>
          {chosen && <Snippet text={chosen.code({ url, chainId })} label={`code for ${chosen.title}`} />}
        </section>
      )}
    </InView>
  );
}
