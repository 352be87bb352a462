import { useState } from 'preact/hooks';
import type { Answers } from '../answers.js';
import { call } from '../api.js';
import { useLive } from '../live.js';
import { listOf, type Known } from '../paymasters.js';
import { hrefOf } from '../route.js';
import { failures } from './change.js';
import { CycleFields, cycleOf } from './cycle.js';
import { confirmed } from './confirmed.js';
import { Field, Labelled, MethodChoices, OpenForm, Options, checkedMethods } from './form.js';
import { decimal, units } from './limit.js';
import { Select, type Choice } from './parts.js';

type Props = { readonly paymaster: Known; readonly onDone: () => void };

/** `like`: another one, on whose chain most want the next one. */
export function NewPaymaster({
  like,
  onDone,
}: {
  readonly like: Known | undefined;
  readonly onDone: () => void;
}) {
  return (
    <OpenForm
      title="Create a paymaster"
      onDone={onDone}
      send={async ({ name = '', chainId, version }) => {
        const spec = { name, chainId: Number(chainId), type: 'HYBRID', version };
        await create('paymasters', nameOf(name), spec);
        location.hash = hrefOf('paymaster', {}, nameOf(name));
        return `“${name}” is created. Until you register a contract it may pay for anything: do that next.`;
      }}
    >
      <Field label="Name" name="name" />
      <Field
        label="Chain id"
        name="chainId"
        value={String(like?.chainId ?? '')}
        inputMode="numeric"
        pattern="[0-9]+"
      />
      <Field label="Version of the paymaster contract" name="version" value={like?.version ?? ''} />
    </OpenForm>
  );
}

export function NewContract({ paymaster, onDone }: Props) {
  const [abi, setAbi] = useState('');
  const [from, setFrom] = useState('');
  const methods = methodsOf(abi);
  const { data: all = [] } = useLive('contracts', () => listOf('contracts'));
  const others = [...new Map(all.map(({ spec }) => [spec.address.toLowerCase(), spec])).values()];
  const like = others.find(({ address }) => address === from);
  return (
    <OpenForm
      title="Register a contract"
      onDone={onDone}
      send={async ({ name = '', address, ...chosen }) => {
        const whitelistedMethods = checkedMethods(chosen);
        const spec = { paymasterRef: { name: paymaster.object }, name, address, abi, whitelistedMethods };
        await create('contracts', nameOf(`${paymaster.object}-${name}`), spec);
        return `Calls of ${whitelistedMethods.join(', ') || 'no method'} are paid for.`;
      }}
    >
      {others.length > 0 && (
        <Select
          label="Copy a registered one"
          value={from}
          choices={[['', 'none'], ...others.map((one): Choice => [one.address, one.name])]}
          onChoose={(address) => {
            setFrom(address);
            setAbi(others.find((one) => one.address === address)?.abi ?? '');
          }}
        />
      )}
      <Field key={`name ${from}`} label="Name" name="name" value={like?.name ?? ''} />
      <Field
        key={`address ${from}`}
        label="Address"
        name="address"
        value={from}
        pattern="0x[0-9a-fA-F]{40}"
      />
      <Labelled label="ABI, as JSON" name="abi" isWide>
        {(state) => (
          <textarea
            name="abi"
            required
            spellcheck={false}
            value={abi}
            onInput={(event) => setAbi(event.currentTarget.value)}
            {...state}
          />
        )}
      </Labelled>
      <MethodChoices methods={methods} empty="Paste the ABI first." />
    </OpenForm>
  );
}

export function NewLimit({ paymaster, onDone }: Props) {
  const [unit, setUnit] = useState('COUNT');
  const [threshold, setThreshold] = useState('');
  const [perOperation, setPerOperation] = useState('');
  return (
    <OpenForm
      title="Set a limit"
      onDone={onDone}
      send={async ({ name = '', scope, ...cycle }) => {
        const spendingLimit = {
          scope,
          thresholdType: unit,
          ...(threshold !== '' && { threshold, ...cycleOf(cycle) }),
          ...(perOperation !== '' && unit !== 'COUNT' && { perOperation }),
        };
        const spec = {
          paymasterRef: { name: paymaster.object },
          name,
          policyType: 'PAYMASTER_SA_LIMIT',
          spendingLimit,
        };
        await create('policies', nameOf(`${paymaster.object}-${name}`), spec);
        return threshold === ''
          ? `The limit “${name}” refuses an operation that may cost more than ${perOperation}.`
          : `The limit “${name}” counts from now on.`;
      }}
    >
      <Field label="Name" name="name" />
      <Options
        label="For"
        name="scope"
        of={{ PAYMASTER: 'all accounts together', SMART_ACCOUNT: 'each account' }}
      />
      <Field
        label="At most"
        name="threshold"
        isOptional={unit !== 'COUNT' && perOperation !== ''}
        inputMode="decimal"
        pattern={decimal}
        onInput={setThreshold}
      />
      <Options label="Of" name="thresholdType" of={units} onChoose={setUnit} />
      {unit !== 'COUNT' && (
        <Field
          label={`Most that one operation may cost, in ${units[unit] ?? ''}`}
          name="perOperation"
          isOptional={threshold !== ''}
          inputMode="decimal"
          pattern={decimal}
          onInput={setPerOperation}
        />
      )}
      {(unit === 'COUNT' || threshold !== '' || perOperation === '') && <CycleFields />}
    </OpenForm>
  );
}

export function NewWebhook({ paymaster, onDone }: Props) {
  return (
    <OpenForm
      title="Add a webhook"
      onDone={onDone}
      send={async ({ name = '', url, onError }) => {
        const spec = {
          paymasterRef: { name: paymaster.object },
          name,
          policyType: 'WEBHOOK',
          webhook: { url, onError },
        };
        const object = nameOf(`${paymaster.object}-${name}`);
        await create('policies', object, spec);
        const { key } = await call<Answers['getPaymasterPolicyKey']>(`/manage/v1/policies/${object}/key`);
        return `“${name}” is asked about every operation from now on. Try it by “Send a test” above. Its host knows our calls by this signing key, a secret: ${key}`;
      }}
    >
      <Field label="Name" name="name" />
      <Field label="URL" name="url" pattern="https?://.+" />
      <Options label="When it does not answer" name="onError" of={failures} />
    </OpenForm>
  );
}

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

function create(noun: string, name: string, spec: object): Promise<unknown> {
  return call(`/manage/v1/${noun}`, { method: 'POST', body: { name, spec } });
}

/** Names of objects have small letters, digits and dashes. */
function nameOf(text: string): string {
  const dashed = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 63);
  return dashed.replace(/^-|-$/g, '') || 'unnamed';
}

/** Those that a transaction may call. The server judges the ABI; this lists what there is to choose. */
function methodsOf(abi: string): readonly string[] {
  try {
    const entries = JSON.parse(abi) as readonly { type?: string; name?: string; stateMutability?: string }[];
    const names = entries.flatMap(({ type, name, stateMutability = '' }) =>
      type === 'function' && name !== undefined && !['view', 'pure'].includes(stateMutability) ? [name] : [],
    );
    return [...new Set(names)];
  } catch {
    return [];
  }
}
