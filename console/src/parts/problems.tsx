import type { Answers } from '../answers.js';
import { call } from '../api.js';
import { useLive, type Live } from '../live.js';
import { Badge, Prose, Table, Time } from './parts.js';

export type Problems = Answers['listProblems'];
export type Problem = Problems['items'][number];

export function useProblems(): Live<Problems> {
  return useLive('problems', () => call<Problems>('/manage/v1/problems'), 15_000);
}

export function ProblemTable({
  caption,
  problems,
}: {
  readonly caption: string;
  readonly problems: readonly Problem[];
}) {
  return (
    <Table
      caption={caption}
      rows={problems}
      columns={[
        { name: 'How grave', of: ({ severity }) => <Badge>{severity}</Badge> },
        { name: 'Of', of: ({ noun, displayName }) => `${displayName} (${noun})` },
        { name: 'What is seen', of: ({ message, meaning }) => <Prose>{message || meaning}</Prose> },
        { name: 'What to do', of: ({ remedy }) => <Prose>{remedy}</Prose> },
        { name: 'Since', of: ({ since }) => since && <Time>{since}</Time> },
      ]}
    />
  );
}
