import { chains } from './checks/chains.js';
import { money } from './checks/money.js';
import { objects } from './checks/objects.js';
import { processes } from './checks/processes.js';
import { signing } from './checks/signing.js';

/**
 * Everything that can be wrong, the one list behind `paymaster doctor`, `GET /manage/v1/problems`, the console's page "What is wrong"
 * and the table in docs/runbooks.md. A condition belongs to at most one check. Those that only sum up others belong to none.
 */
export const checks = { ...objects, ...signing, ...money, ...chains, ...processes } as const;

export type CheckId = keyof typeof checks;
export const checkIds = Object.keys(checks) as readonly CheckId[];

/** Where the table of all checks has the row. */
export function runbookLink(id: CheckId): string {
  return `docs/runbooks.md#${id}`;
}
