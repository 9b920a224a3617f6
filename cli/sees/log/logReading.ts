import type { Pulse } from "./pulse";
import type { Requests } from "./requests";
import type { Sign } from "./sign";
import type { RaisedText } from "./traceback";

export interface Hit {
  /** The line, without secrets, cut to what is worth reading. */
  readonly line: string;
  /** What the pattern's groups caught; "" where a group took no part. */
  readonly groups: readonly string[];
  readonly lineNumber: number;
  readonly firstLineNumber: number;
  readonly count: number;
  /** A server that had served ended with it, and was started again since. */
  readonly afterServing?: true;
}

/** Why a program ended, in its own words. */
export interface Raised extends RaisedText {
  /** The process that ended; "" where the log doesn't say. */
  readonly process: string;
  readonly by: "program" | "docker";
  /** A line alone says it: no logger wrote that, and no traceback is above it. */
  readonly isAlone?: true;
}

/** What a program ended of, in its own words. */
export interface LastWord extends Raised {
  /** Whether it ended, or only logged an error and went on. */
  readonly isEnd: boolean;
  /** It had served before. */
  readonly hadServed: boolean;
  /** It was started again since, after it had served. */
  readonly afterServing?: true;
}

/** A log after it was read: the signs in it and nothing else, so that its size doesn't matter. */
export interface LogReading {
  readonly name: string;
  readonly kind: "container" | "kernel" | "service" | "file" | "probes";
  /** Container that wrote it, where that is known. */
  readonly container?: string;
  readonly hits: ReadonlyMap<Sign, Hit>;
  readonly lines: number;
  readonly raised?: LastWord;
  /** What the clock and the figures of its last start tell. */
  readonly pulse?: Pulse;
  /** How its last start answered requests. */
  readonly requests?: Requests;
  /** How many starts of a server it shows. */
  readonly starts?: number;
  /** It shows no word: no line, or only blank ones. */
  readonly empty?: true;
  /** Why its end was not read. */
  readonly cutShort?: string;
}

/** A log without what had ended its server before that was started again. */
export function withoutCrash({ hits, raised, ...log }: LogReading): LogReading {
  return {
    ...log,
    hits: new Map([...hits].filter(([, { afterServing }]) => afterServing !== true)),
    ...(raised === undefined || raised.afterServing === true ? {} : { raised }),
  };
}
