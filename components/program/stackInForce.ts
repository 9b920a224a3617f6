import { getRootDirectory, getStack, runtime } from "@pulumi/pulumi";
import { parseEngineConfig, type StackSettings, stackFileOf } from "../settings";
import { userInput } from "./refusal";

/**
 * The configuration that the engine hands to this program, with the lines of the stack file where
 * that holds it. Every fault ends the program in one message.
 */
export function stackInForce(): StackSettings {
  const config = runtime.allConfig();
  return userInput(() =>
    parseEngineConfig(config, stackFileOf(config, getRootDirectory(), getStack())),
  );
}
