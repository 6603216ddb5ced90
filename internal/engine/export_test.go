package engine

// Prompt makes the agent's prompt, which a session gives to the agent alone.
var Prompt = prompt

// Placeholders lists the names that a prompt file may have between {{ and }}.
var Placeholders = placeholders

// PromptData has the parts of a prompt.
type PromptData = promptData

// Neighbour is another session at work.
type Neighbour = neighbour
