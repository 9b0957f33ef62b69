/* Positions of the vertices of a mesh of an FBX file at given times, as read by assimp.

     cc -O1 assimp_points.c -lassimp -lm -o assimp_points
     assimp_points FILE MESH CLIP OUT SECONDS...

   MESH is the name of its node; CLIP is '-' for the pose of the nodes. assimp returns nodes, keys, bones and morph
   targets but does not pose them; the posing here follows its documentation. OUT receives doubles [times, vertices, 3]
   in the space of the file, without the root node, which contains units and axes. All times must be times of keys; the
   first is the start of the clip, which is time 0 of assimp. */

#include <assimp/cimport.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { double m[3][4]; } Affine;

static void fail(const char *what, const char *which) {
  fprintf(stderr, "%s: %s\n", what, which);
  exit(1);
}

static Affine identity(void) {
  Affine a = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
  return a;
}

static Affine of_matrix(const struct aiMatrix4x4 *m) {
  Affine a = {{{m->a1, m->a2, m->a3, m->a4}, {m->b1, m->b2, m->b3, m->b4}, {m->c1, m->c2, m->c3, m->c4}}};
  return a;
}

static Affine product(Affine a, Affine b) {
  Affine c;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 4; j++) {
      c.m[i][j] = j == 3 ? a.m[i][3] : 0;
      for (int k = 0; k < 3; k++) c.m[i][j] += a.m[i][k] * b.m[k][j];
    }
  return c;
}

static void apply(const Affine *a, const double p[3], double weight, double out[3]) {
  for (int i = 0; i < 3; i++)
    out[i] += weight * (a->m[i][0] * p[0] + a->m[i][1] * p[1] + a->m[i][2] * p[2] + a->m[i][3]);
}

/* The key nearest to a time. */
#define NEAREST(keys, count, ticks, best)                                                                  \
  for (unsigned k = 0; k < (count); k++)                                                                   \
    if (fabs((keys)[k].mTime - (ticks)) < fabs((keys)[best].mTime - (ticks))) best = k;

static Affine local_at(const struct aiNodeAnim *c, double ticks) {
  unsigned p = 0, r = 0, s = 0;
  NEAREST(c->mPositionKeys, c->mNumPositionKeys, ticks, p)
  NEAREST(c->mRotationKeys, c->mNumRotationKeys, ticks, r)
  NEAREST(c->mScalingKeys, c->mNumScalingKeys, ticks, s)
  const struct aiQuaternion q = c->mRotationKeys[r].mValue;
  const struct aiVector3D t = c->mPositionKeys[p].mValue, e = c->mScalingKeys[s].mValue;
  double n = sqrt((double)q.w * q.w + (double)q.x * q.x + (double)q.y * q.y + (double)q.z * q.z);
  double w = q.w / n, x = q.x / n, y = q.y / n, z = q.z / n;
  Affine a = {{{(1 - 2 * (y * y + z * z)) * e.x, 2 * (x * y - z * w) * e.y, 2 * (x * z + y * w) * e.z, t.x},
               {2 * (x * y + z * w) * e.x, (1 - 2 * (x * x + z * z)) * e.y, 2 * (y * z - x * w) * e.z, t.y},
               {2 * (x * z - y * w) * e.x, 2 * (y * z + x * w) * e.y, (1 - 2 * (x * x + y * y)) * e.z, t.z}}};
  return a;
}

/* The transform of a node relative to the root. */
static Affine world(const struct aiNode *node, const struct aiAnimation *animation, double ticks) {
  if (!node->mParent) return identity();
  Affine local = of_matrix(&node->mTransformation);
  for (unsigned k = 0; animation && k < animation->mNumChannels; k++)
    if (!strcmp(animation->mChannels[k]->mNodeName.data, node->mName.data))
      local = local_at(animation->mChannels[k], ticks);
  return product(world(node->mParent, animation, ticks), local);
}

static const struct aiNode *find(const struct aiNode *node, const char *name) {
  if (!strcmp(node->mName.data, name)) return node;
  for (unsigned k = 0; k < node->mNumChildren; k++) {
    const struct aiNode *found = find(node->mChildren[k], name);
    if (found) return found;
  }
  return NULL;
}

/* The vertices with the morph targets, which are absolute positions, at their weights. */
static void morph(const struct aiMesh *mesh, const struct aiAnimation *animation, double ticks, double *points) {
  for (unsigned v = 0; v < mesh->mNumVertices; v++) {
    points[3 * v] = mesh->mVertices[v].x;
    points[3 * v + 1] = mesh->mVertices[v].y;
    points[3 * v + 2] = mesh->mVertices[v].z;
  }
  for (unsigned t = 0; t < mesh->mNumAnimMeshes; t++) {
    const struct aiAnimMesh *target = mesh->mAnimMeshes[t];
    double weight = animation ? 0 : target->mWeight;
    for (unsigned c = 0; animation && c < animation->mNumMorphMeshChannels; c++) {
      const struct aiMeshMorphAnim *channel = animation->mMorphMeshChannels[c];
      if (strncmp(channel->mName.data, mesh->mName.data, strlen(mesh->mName.data))) continue;
      unsigned best = 0;
      NEAREST(channel->mKeys, channel->mNumKeys, ticks, best)
      const struct aiMeshMorphKey *key = &channel->mKeys[best];
      for (unsigned k = 0; k < key->mNumValuesAndWeights; k++)
        if (key->mValues[k] == t) weight = key->mWeights[k];
    }
    for (unsigned v = 0; v < mesh->mNumVertices; v++) {
      points[3 * v] += weight * ((double)target->mVertices[v].x - mesh->mVertices[v].x);
      points[3 * v + 1] += weight * ((double)target->mVertices[v].y - mesh->mVertices[v].y);
      points[3 * v + 2] += weight * ((double)target->mVertices[v].z - mesh->mVertices[v].z);
    }
  }
}

static void pose(const struct aiScene *scene, const struct aiNode *node, const struct aiMesh *mesh,
                 const struct aiAnimation *animation, double ticks, FILE *out) {
  double *points = calloc(3 * mesh->mNumVertices, sizeof(double));
  double *posed = calloc(3 * mesh->mNumVertices, sizeof(double));
  double *sums = calloc(mesh->mNumVertices, sizeof(double));
  morph(mesh, animation, ticks, points);
  for (unsigned b = 0; b < mesh->mNumBones; b++) {
    const struct aiBone *bone = mesh->mBones[b];
    const struct aiNode *joint = find(scene->mRootNode, bone->mName.data);
    if (!joint) fail("no node for the bone", bone->mName.data);
    Affine matrix = product(world(joint, animation, ticks), of_matrix(&bone->mOffsetMatrix));
    for (unsigned k = 0; k < bone->mNumWeights; k++) {
      unsigned v = bone->mWeights[k].mVertexId;
      apply(&matrix, points + 3 * v, bone->mWeights[k].mWeight, posed + 3 * v);
      sums[v] += bone->mWeights[k].mWeight;
    }
  }
  Affine own = world(node, animation, ticks);
  for (unsigned v = 0; v < mesh->mNumVertices; v++) {
    if (!mesh->mNumBones) apply(&own, points + 3 * v, 1, posed + 3 * v);
    else for (int i = 0; i < 3; i++) posed[3 * v + i] /= sums[v];
  }
  fwrite(posed, sizeof(double), 3 * mesh->mNumVertices, out);
  free(points), free(posed), free(sums);
}

int main(int count, char **words) {
  if (count < 6) fail("usage", "assimp_points FILE MESH CLIP OUT SECONDS...");
  const struct aiScene *scene = aiImportFile(words[1], aiProcess_Triangulate | aiProcess_ValidateDataStructure);
  if (!scene) fail(words[1], aiGetErrorString());
  const struct aiAnimation *animation = NULL;
  for (unsigned k = 0; k < scene->mNumAnimations; k++)
    if (!strcmp(scene->mAnimations[k]->mName.data, words[3])) animation = scene->mAnimations[k];
  if (!animation && strcmp(words[3], "-")) fail("no animation", words[3]);
  const struct aiNode *node = find(scene->mRootNode, words[2]);
  if (!node || !node->mNumMeshes) fail("no mesh", words[2]);
  FILE *out = fopen(words[4], "wb");
  if (!out) fail("cannot write", words[4]);
  for (int k = 5; k < count; k++) {
    double ticks = animation ? (atof(words[k]) - atof(words[5])) * animation->mTicksPerSecond : 0;
    for (unsigned m = 0; m < node->mNumMeshes; m++)
      pose(scene, node, scene->mMeshes[node->mMeshes[m]], animation, ticks, out);
  }
  return fclose(out) ? 1 : 0;
}
