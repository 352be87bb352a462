import { useEffect, useState } from 'preact/hooks';
import type { Answers } from '../answers.js';
import { call, can, useAsked } from '../api.js';
import { confirmed } from '../parts/confirmed.js';
import { Copy, Snippet } from '../parts/copy.js';
import { InView, OpenForm, Options } from '../parts/form.js';
import { Card, Facts, Note } from '../parts/parts.js';
import { readApiKey, type Known, type OfPaymaster } from '../paymasters.js';
import { snippets } from './snippets.js';

/** How an application asks this paymaster: its address, and code to paste. */
export function Connect({ paymaster, onChanged }: OfPaymaster) {
  const [keys, setKeys] = useState(0);
  return (
    <Card title="Connect a wallet">
      <Connection key={keys} paymaster={paymaster} />
      {can() && <NewKey paymaster={paymaster} onDone={() => (setKeys((last) => last + 1), onChanged())} />}
    </Card>
  );
}

/** `isShown`: the apiKey is shown without a click. */
export function Connection({
  paymaster: { object, chainId, paymasterId },
  isShown = false,
}: {
  readonly paymaster: Known;
  readonly isShown?: boolean;
}) {
  const { ask, forget, data: apiKey, error } = useAsked<string>();
  const show = () => ask(() => readApiKey(object));
  useEffect(() => void (isShown && show()), []);
  const url = `${location.origin}/api/v1/${chainId}/${apiKey ?? 'API_KEY'}`;
  return (
    <>
      <p class="quiet">
        Wallets call this address. Its last part is the apiKey: everybody who has it can ask this paymaster to
        pay, within your rules. Where the JSON-RPC servers have another host than this page, put that in its
        place.
      </p>
      <Facts>
        {[
          [
            'paymasterId',
            <>
              <code>{paymasterId}</code> <Copy text={paymasterId} label="paymasterId" />
            </>,
          ],
          [
            'JSON-RPC address',
            <>
              <code>{url}</code> <Copy text={url} label="JSON-RPC address" />
            </>,
          ],
        ]}
      </Facts>
      <InView of={error}>{error && <Note kind="error">{error.message}</Note>}</InView>
      {can() && (
        <p>
          <button
            type="button"
            aria-pressed={apiKey !== undefined}
            onClick={() => (apiKey === undefined ? void show() : forget())}
          >
            {apiKey === undefined ? 'Show the apiKey' : 'Hide the apiKey'}
          </button>
        </p>
      )}
      {snippets.map(({ title, code }) => (
        <section key={title} aria-label={title}>
          <h3>{title}</h3>
          <Snippet text={code({ url, chainId })} label={`code for ${title}`} />
        </section>
      ))}
    </>
  );
}

type Props = { readonly paymaster: Known; readonly onDone: () => void };

const overlaps: Readonly<Record<string, number>> = { day: 86_400, week: 604_800, hour: 3_600, none: 0 };

/** Rotates the apiKey of wallets. */
function NewKey({ paymaster, onDone }: Props) {
  return (
    <OpenForm
      title="Give it a new apiKey"
      onDone={onDone}
      send={async ({ overlap = 'none' }) => {
        const seconds = overlaps[overlap] ?? 0;
        const isSure = await confirmed({
          title: `Give “${paymaster.name}” a new apiKey?`,
          says:
            seconds === 0
              ? 'Every wallet that has the present one is refused at once.'
              : 'Wallets must have the new one before the present one ends: then they are refused.',
          button: 'Give a new apiKey',
        });
        if (!isSure) return undefined;
        const path = `/manage/v1/paymasters/${paymaster.object}/key/rotate?overlapSeconds=${seconds}`;
        const { previousKeyUntil } = await call<Answers['rotatePaymasterKey']>(path, { method: 'POST' });
        const former =
          previousKeyUntil === null ? 'is refused from now on' : `works until ${previousKeyUntil}`;
        return `It has a new apiKey. The one before ${former}.`;
      }}
    >
      <Options
        label="The present one works for"
        name="overlap"
        of={{ day: 'a day more', week: 'a week more', hour: 'an hour more', none: 'no time: it was stolen' }}
      />
    </OpenForm>
  );
}
