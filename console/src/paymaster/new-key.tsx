import type { Answers } from '../answers.js';
import { call } from '../api.js';
import { confirmed } from '../parts/confirmed.js';
import { OpenForm, Options } from '../parts/form.js';
import type { Known } from '../paymasters.js';

type Props = { readonly paymaster: Known; readonly onDone: () => void };

const overlaps: Readonly<Record<string, number>> = { day: 86_400, week: 604_800, hour: 3_600, none: 0 };

/** Rotates the apiKey of wallets. */
export function NewKey({ paymaster, onDone }: Props) {
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
