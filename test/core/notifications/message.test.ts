import { describe, expect, test } from '@jest/globals';
import { compare, type Thing } from '../../../core/notifications/compare.js';
import { formatProblem } from '../../../core/errors.js';
import { validateResource } from '../../../core/resources/validate.js';
import { anOrganisation } from '../../build/resources.js';
import { formats, composeMessage, slackText, testMessage } from '../../../core/notifications/message.js';
import type { EpochMs } from '../../../core/units/time.js';

const now = 1_800_000_000_000 as EpochMs;

function messagesOf(things: readonly Thing[]) {
  const { posts } = compare('r', {}, { things, unknown: new Set() }, now);
  return posts.map((post) => composeMessage('acme', now, post));
}

function slackOf(title: string, message = ''): string {
  const [one] = messagesOf([{ event: 'limit.nearly', subject: 'policies/a', title, message }]);
  return slackText(one!);
}

describe('a message for Slack', () => {
  test.each([
    ['calls a channel', '<!channel> <@U024BE7LH>', /<[!@#]/],
    ['calls everybody on Discord', '@everyone and @here', /@(?!\u200b)/],
    ['hides a link behind a text', '[your bank](https://evil.example)', /\]\(|:\/\/(?!\u200b)/],
    ['begins a line of its own', 'a\nacme: paymaster.notServing.\r\u2028b', /[\r\u2028\u2029]|\nacme/],
    ['turns text around', 'a\u202egnp.exe', /\u202e/],
  ])('does not let a name that %s do so', (_what, name, harm) => {
    expect(slackOf(name)).not.toMatch(harm);
    expect(slackOf('shop', name)).not.toMatch(harm);
  });

  test('is one of bounded length, whatever tenants write', () => {
    const things = Array.from({ length: 1_000 }, (_, i) => ({
      event: 'limit.nearly' as const,
      subject: `policies/${i}`,
      title: 'x'.repeat(10_000),
      message: '&'.repeat(10_000),
    }));
    const [message] = messagesOf(things);
    const text = slackText(message!);
    expect(text.length).toBeLessThan(40_000);
    expect(text).toContain('… and 990 more');
    expect(JSON.stringify(formats.CloudEvents.encode(message!)).length).toBeLessThan(40_000);
  });

  test('says what has happened to what', () => {
    expect(slackOf('gas a day', '83 % used')).toBe(
      'acme: limit.nearly. A limit that all users share is used to at least 80 %.\n• gas a day: 83 % used',
    );
  });
});

test('a CloudEvent has the attributes that CloudEvents 1.0 requires, and a test says that it is one', () => {
  const message = testMessage('acme', now, 'id-1');
  expect(formats.CloudEvents.encode(message)).toMatchObject({
    specversion: '1.0',
    id: 'id-1',
    source: '/organisations/acme',
    type: 'test',
    time: '2027-01-15T08:00:00.000Z',
  });
});

test('what is wrong with the URL of a receiver is said without the URL', () => {
  const wrong = [{ url: 'ftp://hunter2' }, { url: 'https://hunter2', urlFile: 'a' }, { urlFile: '../a' }];
  for (const each of wrong) {
    const organisation = anOrganisation({ notifications: [{ name: 'ops', ...each }] });
    const problems = validateResource('Organisation', organisation).map(formatProblem);
    expect(problems).not.toEqual([]);
    expect(problems.join()).not.toContain('hunter2');
  }
});
