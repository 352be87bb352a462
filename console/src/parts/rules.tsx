import { useState } from 'preact/hooks';
import type { Answers } from '../answers.js';
import { call, can } from '../api.js';
import { amounts, words } from '../format.js';
import { useLive } from '../live.js';
import type { Rule } from '../records.js';
import { Labelled } from './form.js';
import { Badge, Card, Shown, Table, Time } from './parts.js';

/** Everything that decides about operations of a paymaster, with what it says now. */
export function Rules({ object }: { readonly object: string }) {
  const [sender, setSender] = useState('');
  const isAccount = /^0x[0-9a-fA-F]{40}$/.test(sender);
  const query = isAccount ? `?${new URLSearchParams({ sender })}` : '';
  const rules = useLive(`rules ${object}${query}`, async () => {
    const found = await call<Answers['listRules']>(`/manage/v1/paymasters/${object}/rules${query}`);
    return found.items;
  });
  return (
    <Card
      title="Rules"
      aside={
        <Labelled
          label="Of limits per account, show the share of"
          says={isAccount || sender === '' ? undefined : 'Must be an address: 0x and 40 hex digits'}
        >
          {(state) => (
            <input
              type="search"
              value={sender}
              placeholder="0x…"
              onInput={(event) => setSender(event.currentTarget.value.trim())}
              {...state}
            />
          )}
        </Labelled>
      }
    >
      <Shown
        live={rules}
        isEmpty={(all) => all.length === 0}
        empty={`Nothing decides yet.${can() ? ' Register a contract, then set a limit.' : ''}`}
      >
        {(all) => <RuleTable rules={all} />}
      </Shown>
    </Card>
  );
}

function RuleTable({ rules }: { readonly rules: readonly Rule[] }) {
  return (
    <Table
      caption="Rules"
      rows={rules}
      columns={[
        {
          name: 'Rule',
          of: ({ name, policyType, campaign }) => (
            <>
              {name} {kindOf(policyType) !== name && <span class="quiet">{kindOf(policyType)}</span>}
              {campaign !== undefined && <span class="quiet">, campaign {campaign}</span>}
            </>
          ),
        },
        {
          name: 'Now',
          of: ({ verdict }) =>
            verdict === undefined ? <span class="quiet">by operation</span> : <Badge>{verdict}</Badge>,
        },
        { name: 'Says', of: ({ says }) => amounts(says) },
        { name: 'Left', isNumber: true, of: ({ remaining }) => remaining && amounts(remaining) },
        {
          name: 'Changes',
          of: ({ turnsAt }) => (turnsAt === undefined ? 'not by itself' : <Time>{turnsAt}</Time>),
        },
        {
          name: 'Refuses',
          of: ({ enforcement }) =>
            enforcement === 'Shadow' ? <Badge of="paused">Shadow: counts alone</Badge> : 'yes',
        },
        { name: 'For', of: ({ appliesTo }) => appliesTo.map((mode) => modes[mode] ?? mode).join(' and ') },
      ]}
    />
  );
}

/** What people call the kind of a policy, or another rule. */
export function kindOf(policyType: string): string {
  return kinds[policyType] ?? words(policyType);
}

const kinds: Readonly<Record<string, string>> = {
  PAYMASTER_SA_LIMIT: 'Spending limit',
  WALLET_DEPLOYMENT: 'Deployment of wallets',
};

const modes: Readonly<Record<string, string>> = {
  SPONSORED: 'sponsored operations',
  ERC20: 'payments in tokens',
};
