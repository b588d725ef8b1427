export * from "./attestationEvent.model"
export * from "./_eventKind"
export * from "./locationRecord.model"
export * from "./answer.model"
