import { arrayOf, recordOf } from '../../../core/schema/json-schema.js';
import { modes } from '../../../core/policy/modes.js';
import type { Rule } from './rules.js';

const text = { type: 'string' };

/** JSON Schema of a {@link Rule}. */
export const ruleSchema = recordOf<Rule>(
  {
    policyType: {
      ...text,
      description:
        'Of a policy its policyType; else SUSPENDED, NOT_READY, INVALID_POLICY, DENIED_SENDERS, CAMPAIGNS or CONTRACTS.',
    },
    name: text,
    enforcement: { enum: ['Enforce', 'Shadow'], description: 'Shadow: it judges and never refuses.' },
    appliesTo: { ...arrayOf({ enum: modes }), description: 'Modes in which it judges.' },
    says: { ...text, description: 'For people.' },
  },
  {
    policyId: {
      ...text,
      description: 'Absent: it is not a policy, or all policies of the kind are one rule.',
    },
    campaign: { ...text, description: 'It judges only requests that name the campaign.' },
    verdict: {
      enum: ['pass', 'refuse'],
      description:
        'Whether it lets the operation pass. Absent: it does not judge it, or that depends on the operation.',
    },
    remaining: { ...text, description: 'What is left of a limit, with its unit.' },
    turnsAt: { ...text, description: 'RFC 3339: when what it says changes by itself.' },
  },
);
