import { useState } from 'preact/hooks';
import { request } from '../api.js';
import { Snippet } from '../parts/copy.js';
import { Field, InView, Labelled, OpenForm, Options } from '../parts/form.js';
import { Note } from '../parts/parts.js';
import type { Known } from '../paymasters.js';
import { told, type SecretKey } from './named-key.js';
import { snippets } from './snippets.js';

/** Adds a key; all but its name may be left empty. */
export function NewNamedKey({
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
        return told(answer, `“${name}” is added: it is accepted`);
      }}
    >
      <Field label="Name, e.g. web or partner-a" name="name" />
      <Labelled label="Expires (left empty: never)" name="expiresAt">
        {(state) => <input name="expiresAt" type="datetime-local" {...state} />}
      </Labelled>
      <Field label="Networks (left empty: all), e.g. 203.0.113.0/24" name="cidrs" isOptional />
      <Field
        label="Most requests (left empty: no limit)"
        name="requests"
        isOptional
        inputMode="numeric"
        pattern="[0-9]+"
      />
      <Options
        label="In"
        name="perSeconds"
        of={{ 1: 'a second', 60: 'a minute', 3600: 'an hour' }}
        value="60"
      />
      <Field label="Campaign (left empty: every one)" name="campaign" isOptional />
    </OpenForm>
  );
}

/** The address with a key that was just made, and code with it: nothing else shows it again. */
export function OnceShown({
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
