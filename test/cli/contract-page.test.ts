import { expect, test } from '@jest/globals';
import { layoutIds } from '../../core/paymaster/layout.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { textOf } from '../support/document-commands.js';

/** Cells of the table by layout; `a-0.6`, `-0.7` in the first cell are two layouts. */
function rows(): ReadonlyMap<string, readonly string[]> {
  const lines = textOf('docs/contracts.md').split('\n');
  const cells = lines
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  return new Map(
    cells.flatMap(([, names = '', ...rest]) => {
      const [first = '', ...others] = [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? '');
      const family = first.replace(/-[^-]*$/, '');
      return [first, ...others.map((name) => (name.startsWith('-') ? `${family}${name}` : name))].map(
        (name) => [name, rest] as const,
      );
    }),
  );
}

test('docs/contracts.md has every layout', () => {
  expect([...rows().keys()].toSorted()).toEqual([...layoutIds].toSorted());
});

test.each(layoutIds)('docs/contracts.md describes %s as its row does', (id) => {
  const { contract, sponsorship } = layouts[id];
  const [deploy = '', paidIn = '', takenOut = '', stake = ''] = rows().get(id) ?? [];
  expect(deploy.includes('--unaudited')).toBe(contract.artifact?.isAudited === false);
  expect(deploy.startsWith('audited')).toBe(contract.artifact?.isAudited === true);
  expect(deploy.includes('source')).toBe(contract.source !== undefined);
  expect(deploy.includes('never changes')).toBe(
    contract.artifact !== undefined && contract.authorise === undefined,
  );
  const keepsBalances = sponsorship.fundingBalanceCall !== undefined;
  expect(paidIn.startsWith('`depositFor`')).toBe(keepsBalances);
  expect(takenOut === 'the sponsor').toBe(keepsBalances);
  const needed = contract.stake?.isNeeded === true ? 'needed' : 'not needed';
  expect(stake).toBe(contract.stake === undefined ? 'what your contract exposes' : needed);
});
