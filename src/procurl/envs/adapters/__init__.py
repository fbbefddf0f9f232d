"""Array environments as Gymnasium environments, and `TaskEnv` for any other environment.

`CurriculumVectorEnv` connects a vector environment of `TaskEnv`s to a curriculum.
"""
